terraform {
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source = "hashicorp/aws"
      # The first major version whose data source of the region is not by name; the runtime asks for one of late 2025.
      version = ">= 6.22, < 7.0"
    }
  }
}
