terraform {
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source = "hashicorp/aws"
      # Version 6.29 is the first that can limit a permission to calls by the function's URL.
      version = ">= 6.29, < 7.0"
    }
  }
}
