locals {
  # Who may be one of the functions: Lambda, which hands a role to functions of its own account alone.
  trust_policy = {
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "lambda.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  }

  # The functions that change a cloud, each with a role for clusters whose entries have no role.
  session_roles = var.session_roles != null ? var.session_roles : length(var.vpc_subnet_ids) == 0
  sessions = {
    for name, definition in local.functions : name => definition
    if local.session_roles && contains(["service", "route", "tagging"], name)
  }

  # The rights on a queue in addition to those of roles.
  queue_policies = {
    failures = {
      Version = "2012-10-17"
      Statement = [{
        Effect    = "Deny"
        Principal = "*"
        Action    = "sqs:*"
        Resource  = local.failures_arn
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
      }]
    }
    dead_letters = {
      Version = "2012-10-17"
      Statement = [
        {
          Effect    = "Allow"
          Principal = { Service = "events.amazonaws.com" }
          Action    = "sqs:SendMessage"
          Resource  = local.dead_letters_arn
          Condition = {
            ArnEquals = {
              "aws:SourceArn" = [
                for name in keys(local.rules) : "arn:${local.partition}:events:${local.region}:${local.account}:rule/${local.prefix}-${name}"
              ]
            }
          }
        },
        {
          Effect    = "Deny"
          Principal = "*"
          Action    = "sqs:*"
          Resource  = local.dead_letters_arn
          Condition = { Bool = { "aws:SecureTransport" = "false" } }
        },
      ]
    }
  }
}
