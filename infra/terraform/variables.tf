variable "stage" {
  description = "Part of all names: serverless-ccm-STAGE-node."
  type        = string
  default     = "dev"

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{0,19}$", var.stage))
    error_message = "stage is of at most 20 lower-case letters, digits and hyphens: it is part of names that have limits."
  }
}

variable "package_folder" {
  description = "The folder with the functions' zips, as `npm run build` leaves them in dist/."
  type        = string
}

variable "controllers" {
  description = "The functions of these controllers alone, with the sweep; admission and audit, which have a URL, are there where they are named."
  type        = set(string)
  default     = ["node", "node-lifecycle", "csr", "service", "route", "tagging"]

  validation {
    condition = length(var.controllers) > 0 && length(setsubtract(var.controllers, [
      "node", "node-lifecycle", "csr", "service", "route", "tagging", "admission", "audit",
    ])) == 0
    error_message = "controllers are one or more of node, node-lifecycle, csr, service, route, tagging, admission, audit."
  }
}

variable "clusters_layer_arn" {
  description = "The layer version with clusters.yaml and the files that it names, read under /opt."
  type        = string
  default     = null

  validation {
    condition     = can(regex("^arn:[^:]+:lambda:${local.region}:[0-9]{12}:layer:[^:]+:[0-9]+$", coalesce(var.clusters_layer_arn, "arn:aws:lambda:${local.region}:000000000000:layer:none:1")))
    error_message = "clusters_layer_arn is the ARN of a layer's version in the functions' region: arn:aws:lambda:REGION:ACCOUNT:layer:NAME:VERSION."
  }
}

variable "clusters_file" {
  description = "Where the functions find the clusters."
  type        = string
  default     = "/opt/clusters.yaml"
}

variable "clusters_path" {
  description = "The path in SSM whose parameters are the clusters' entries, in place of layer and file."
  type        = string
  default     = null

  validation {
    condition     = can(regex("^(/[a-zA-Z0-9_.-]+)+$", coalesce(var.clusters_path, "/none")))
    error_message = "clusters_path is a path of SSM parameters that begins with a slash and ends without one: /serverless-ccm/clusters."
  }
}

variable "allowed_networks" {
  description = "The networks in which API servers may have internal addresses."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for network in var.allowed_networks : can(cidrhost(trimprefix(network, "!"), 0))])
    error_message = "allowed_networks are networks such as 10.0.0.0/8 or fd00::/8, with ! before those that are excluded."
  }
}

variable "allowed_secrets" {
  description = "Prefixes of the secrets that entries in SSM may name."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for prefix in var.allowed_secrets : can(regex("^(ssm|secretsmanager):[^,[:space:]]+$", prefix))])
    error_message = "allowed_secrets are prefixes such as secretsmanager:tenants/ or ssm:/tenants/."
  }
}

variable "assume_role_arn" {
  description = "The role (or a pattern with *) of other accounts that clusters may name as roleArn; {function} in it is the name of whichever function assumes it."
  type        = string
  default     = null

  validation {
    condition     = startswith(coalesce(var.assume_role_arn, "arn:"), "arn:")
    error_message = "assume_role_arn is the ARN of a role, or a pattern of such: arn:aws:iam::*:role/NAME."
  }
  validation {
    condition     = !can(regex("[{}]", replace(coalesce(var.assume_role_arn, "none"), "{function}", "")))
    error_message = "assume_role_arn: nothing but {function} stands in braces."
  }
}

variable "role_name_prefix" {
  description = "What the roles' names begin with, if not serverless-ccm-STAGE-; {region} in it is the region, so that a stage can be in several."
  type        = string
  default     = null

  validation {
    condition     = can(regex("^[a-zA-Z0-9_+=,.@-]{1,49}$", replace(coalesce(var.role_name_prefix, "none"), "{region}", local.region)))
    error_message = "role_name_prefix is the beginning of a role's name, of at most 49 letters, digits and _+=,.@- with {region} filled in: serverless-ccm-prod-{region}-."
  }
}

variable "session_roles" {
  description = "Whether clusters without a roleArn are worked on as a role that is narrowed to the one cluster, and not as the function itself; unless said, not where functions are in subnets, as STS may be out of their reach there."
  type        = bool
  default     = null
}

variable "sign_in_secrets" {
  description = "Secrets and SecureStrings (ARNs, or patterns with *) that entries name by reference; {function} in them is the name of whichever function reads."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for arn in var.sign_in_secrets : can(regex("^arn:[^:]+:(secretsmanager|ssm):", arn))])
    error_message = "sign_in_secrets are ARNs of secrets and parameters: arn:aws:secretsmanager:… or arn:aws:ssm:…."
  }
  validation {
    condition     = alltrue([for arn in var.sign_in_secrets : !can(regex("[{}]", replace(arn, "{function}", "")))])
    error_message = "sign_in_secrets: nothing but {function} stands in braces."
  }
}

variable "sign_in_keys" {
  description = "The keys of one's own that sign_in_secrets are encrypted with."
  type        = list(string)
  default     = []

  validation {
    condition     = length(var.sign_in_keys) == 0 || length(var.sign_in_secrets) > 0
    error_message = "sign_in_keys is given without sign_in_secrets: these keys are used for the secrets alone that it names."
  }
}

variable "sign_in_role_arn" {
  description = "The role (or a pattern with *) that is assumed to sign in to clusters or to read secrets; {function} in it is the name of whichever function assumes it."
  type        = string
  default     = null

  validation {
    condition     = startswith(coalesce(var.sign_in_role_arn, "arn:"), "arn:")
    error_message = "sign_in_role_arn is the ARN of a role, or a pattern of such: arn:aws:iam::ACCOUNT:role/NAME."
  }
  validation {
    condition     = !can(regex("[{}]", replace(coalesce(var.sign_in_role_arn, "arn:"), "{function}", "")))
    error_message = "sign_in_role_arn: nothing but {function} stands in braces."
  }
}

variable "web_identity_audiences" {
  description = "The audiences (or patterns with *) for which tokens of AWS's own issuer are asked for."
  type        = list(string)
  default     = []
}

variable "web_identity_max_seconds" {
  description = "How long such a token may hold."
  type        = number
  default     = 300

  validation {
    condition     = var.web_identity_max_seconds >= 60 && var.web_identity_max_seconds <= 3600 && floor(var.web_identity_max_seconds) == var.web_identity_max_seconds
    error_message = "web_identity_max_seconds is a whole number of seconds from 60 to 3600."
  }
  validation {
    condition     = var.web_identity_max_seconds == 300 || length(var.web_identity_audiences) > 0
    error_message = "web_identity_max_seconds is given without web_identity_audiences: without audiences no token is asked for."
  }
}

variable "vpc_subnet_ids" {
  description = "The subnets that the functions are attached to."
  type        = list(string)
  default     = []
}

variable "vpc_security_group_ids" {
  description = "The security groups that the functions have in these subnets."
  type        = list(string)
  default     = []

  validation {
    condition     = (length(var.vpc_security_group_ids) == 0) == (length(var.vpc_subnet_ids) == 0)
    error_message = "One of vpc_subnet_ids and vpc_security_group_ids is given without the other: a function is attached to subnets with security groups; give both, or neither."
  }
}

variable "reserved_concurrency" {
  description = "So many invocations at a time are kept for each function, and it gets no more."
  type        = number
  default     = null

  validation {
    condition     = coalesce(var.reserved_concurrency, 1) >= 1
    error_message = "reserved_concurrency is a number of invocations, of at least 1."
  }
}

variable "code_signing_config_arn" {
  description = "Lambda's code signing configuration: by it each function takes signed zips and layers alone."
  type        = string
  default     = null

  validation {
    condition     = can(regex("^arn:[^:]+:lambda:${local.region}:[0-9]{12}:code-signing-config:csc-[a-z0-9]{17}$", coalesce(var.code_signing_config_arn, "arn:aws:lambda:${local.region}:000000000000:code-signing-config:csc-00000000000000000")))
    error_message = "code_signing_config_arn is the ARN of a code signing configuration of the functions' region: arn:aws:lambda:REGION:ACCOUNT:code-signing-config:csc-ID."
  }
}

variable "admission_public_keys" {
  description = "Whose signatures the function admission takes in paths: public keys as `infra admission-url --public-key` prints them."
  type        = list(string)
  default     = []

  validation {
    condition     = length(var.admission_public_keys) <= 4 && alltrue([for key in var.admission_public_keys : can(regex("^MCowBQYDK2VwAyEA[A-Za-z0-9+/]{43}=$", key))])
    error_message = "admission_public_keys are at most four public keys of Ed25519 as `infra admission-url --public-key` prints them."
  }
  validation {
    condition     = length(var.admission_public_keys) > 0 || !contains(var.controllers, "admission")
    error_message = "admission_public_keys is missing: admission lets in who has a path that you signed; `infra admission-url --public-key` prints the key."
  }
}

variable "admission_concurrency" {
  description = "So many invocations at a time are kept for admission, and it gets no more; reserved_concurrency without it."
  type        = number
  default     = null

  validation {
    condition     = coalesce(var.admission_concurrency, 1) >= 1
    error_message = "admission_concurrency is a number of invocations, of at least 1."
  }
}

variable "audit_public_keys" {
  description = "Whose signatures the function audit takes as tokens: public keys as `infra audit-webhook --public-key` prints them."
  type        = list(string)
  default     = []

  validation {
    condition     = length(var.audit_public_keys) <= 4 && alltrue([for key in var.audit_public_keys : can(regex("^MCowBQYDK2VwAyEA[A-Za-z0-9+/]{43}=$", key))])
    error_message = "audit_public_keys are at most four public keys of Ed25519 as `infra audit-webhook --public-key` prints them."
  }
  validation {
    condition     = length(var.audit_public_keys) > 0 || !contains(var.controllers, "audit")
    error_message = "audit_public_keys is missing: audit lets in who has a token that you signed; `infra audit-webhook --public-key` prints the key."
  }
}

variable "audit_concurrency" {
  description = "So many invocations at a time are kept for audit, and it gets no more; reserved_concurrency without it."
  type        = number
  default     = null

  validation {
    condition     = coalesce(var.audit_concurrency, 1) >= 1
    error_message = "audit_concurrency is a number of invocations, of at least 1."
  }
}

variable "sweep_every_minute" {
  description = "Whether the sweep is invoked every minute; it is deployed in any case."
  type        = bool
  default     = true
}

variable "alarm_topic_arn" {
  description = "The SNS topic that the alarms tell when they begin and end."
  type        = string
  default     = null

  validation {
    condition     = can(regex("^arn:[^:]+:sns:[^:]+:[0-9]{12}:[^:]+$", coalesce(var.alarm_topic_arn, "arn:aws:sns:r:000000000000:none")))
    error_message = "alarm_topic_arn is the ARN of an SNS topic: arn:aws:sns:REGION:ACCOUNT:NAME."
  }
}

variable "fips" {
  description = "Whether AWS is asked at its FIPS endpoints, in regions of the United States and Canada."
  type        = bool
  default     = false

  validation {
    condition     = !var.fips || can(regex("^(us|ca)-", local.region))
    error_message = "fips: this region has no FIPS endpoints of EC2, Lambda and STS; deploy to a region that has them, or remove fips."
  }
}

variable "otlp_endpoint" {
  description = "Where the functions send traces, as OTLP over HTTP; none without it."
  type        = string
  default     = ""

  validation {
    condition     = var.otlp_endpoint == "" || can(regex("^https?://[^@]+$", var.otlp_endpoint))
    error_message = "otlp_endpoint is the URL of an OTLP endpoint over HTTP, without a password: http://HOST:4318."
  }
}

variable "stop_switch_path" {
  description = "The path in SSM at which operators write down what is stopped; beside clusters_path without it."
  type        = string
  default     = null

  validation {
    condition     = can(regex("^(/[a-zA-Z0-9_.-]+)+$", coalesce(var.stop_switch_path, "/none")))
    error_message = "stop_switch_path is a path of SSM parameters that begins with a slash and ends without one: /serverless-ccm/stop."
  }
}

variable "fleet_brake" {
  description = "The object in S3, BUCKET/KEY, by which all clusters of the deployment share one brake on deletions."
  type        = string
  default     = null

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{1,61}[a-z0-9](/[a-zA-Z0-9_.-]+)+$", coalesce(var.fleet_brake, "bucket/key")))
    error_message = "fleet_brake is an object in S3, in a bucket without dots in its name: BUCKET/KEY."
  }
}
