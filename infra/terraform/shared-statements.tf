locals {
  # What variables grant to several functions: statements, and which functions have them.
  shared_statements = {
    assume-role = [{
      Effect   = "Allow"
      Action   = "sts:AssumeRole"
      Resource = replace(coalesce(var.assume_role_arn, "none"), "{function}", local.own_name)
    }]
    # A function that handles events reads only the event's cluster; functions that need all clusters list them.
    cluster = [{
      Effect   = "Allow"
      Action   = "ssm:GetParameter"
      Resource = "${local.clusters_arn}/*"
    }]
    all-clusters = [{
      Effect   = "Allow"
      Action   = ["ssm:GetParameters", "ssm:GetParametersByPath"]
      Resource = [local.clusters_arn, "${local.clusters_arn}/*"]
    }]
    sign-in-secrets = [{
      Effect   = "Allow"
      Action   = ["secretsmanager:GetSecretValue", "ssm:GetParameter"]
      Resource = [for arn in var.sign_in_secrets : replace(arn, "{function}", local.own_name)]
    }]
    stop-switch = [{
      Effect   = "Allow"
      Action   = ["ssm:GetParameters", "ssm:GetParametersByPath"]
      Resource = [local.stops_arn, "${local.stops_arn}/*"]
    }]
    fleet-brake = [{
      Effect   = "Allow"
      Action   = ["s3:GetObject", "s3:PutObject"]
      Resource = "arn:${local.partition}:s3:::${coalesce(var.fleet_brake, "none")}"
    }]
    sign-in-keys = [{
      Effect   = "Allow"
      Action   = "kms:Decrypt"
      Resource = var.sign_in_keys
      Condition = {
        StringLike = {
          "kms:ViaService" = ["secretsmanager.*", "ssm.*"]
        }
      }
    }]
    sign-in-roles = [{
      Effect   = "Allow"
      Action   = "sts:AssumeRole"
      Resource = replace(coalesce(var.sign_in_role_arn, "none"), "{function}", local.own_name)
    }]
    web-identity = [{
      Effect   = "Allow"
      Action   = "sts:GetWebIdentityToken"
      Resource = "*"
      Condition = {
        # All audiences of a request, and there is one.
        "ForAllValues:StringLike" = {
          "sts:IdentityTokenAudience" = var.web_identity_audiences
        }
        Null = {
          "sts:IdentityTokenAudience" = "false"
        }
        NumericLessThanEquals = {
          "sts:DurationSeconds" = var.web_identity_max_seconds
        }
      }
    }]
    # What Lambda needs in the name of a function to attach it to subnets.
    network = [
      {
        Effect   = "Allow"
        Action   = ["ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets"]
        Resource = "*"
      },
      {
        Effect = "Allow"
        Action = [
          "ec2:CreateNetworkInterface",
          "ec2:DeleteNetworkInterface",
          "ec2:AssignPrivateIpAddresses",
          "ec2:UnassignPrivateIpAddresses",
        ]
        Resource = "arn:${local.partition}:ec2:${local.region}:${local.account}:*/*"
      },
      # Lambda does so before any code of a function runs; that code itself has no need to.
      {
        Effect = "Deny"
        Action = [
          "ec2:CreateNetworkInterface",
          "ec2:DeleteNetworkInterface",
          "ec2:AssignPrivateIpAddresses",
          "ec2:UnassignPrivateIpAddresses",
        ]
        Resource = "*"
        Condition = {
          ArnLike = {
            "lambda:SourceFunctionArn" = "arn:${local.partition}:lambda:${local.region}:${local.account}:function:${local.prefix}-*"
          }
        }
      },
    ]
  }

  # What a relay may: to invoke the functions of controllers, to read what it follows, and to sign in as functions do.
  relayed = [for name in keys(local.functions) : name if !contains(["sweep", "ec2-events", "admission", "audit"], name)]
  relay_statements = concat(
    [{
      Effect   = "Allow"
      Action   = "lambda:InvokeFunction"
      Resource = [for name in local.relayed : "arn:${local.partition}:lambda:${local.region}:${local.account}:function:${local.prefix}-${name}"]
    }],
    [for arn in concat(var.clusters_path == null ? [] : [local.clusters_arn], local.stop_switch_path == null ? [] : [local.stops_arn]) : {
      Effect   = "Allow"
      Action   = "ssm:GetParametersByPath"
      Resource = [arn, "${arn}/*"]
    }],
    flatten([
      for name in ["sign-in-secrets", "sign-in-keys", "sign-in-roles", "web-identity"] : local.shared_statements[name] if local.granted[name]
    ]),
  )

  granted = {
    assume-role     = var.assume_role_arn != null
    cluster         = var.clusters_path != null
    all-clusters    = var.clusters_path != null
    sign-in-secrets = length(var.sign_in_secrets) > 0
    sign-in-keys    = length(var.sign_in_keys) > 0
    sign-in-roles   = var.sign_in_role_arn != null
    web-identity    = length(var.web_identity_audiences) > 0
    network         = length(var.vpc_subnet_ids) > 0
    stop-switch     = local.stop_switch_path != null
    fleet-brake     = var.fleet_brake != null
  }

  # The calling function, by its role's own tag: with one policy for all, each reads only its own.
  own_name = "$${aws:PrincipalTag/serverless-ccm-function}"

  # Where the relay and the command line look for it, too.
  stop_switch_path = (
    var.stop_switch_path != null ? var.stop_switch_path : var.clusters_path == null ? null : "${var.clusters_path}-stop"
  )

  stops_arn    = "arn:${local.partition}:ssm:${local.region}:${local.account}:parameter${coalesce(local.stop_switch_path, "/none")}"
  clusters_arn = "arn:${local.partition}:ssm:${local.region}:${local.account}:parameter${coalesce(var.clusters_path, "/none")}"

  # The sweep and audit call no cloud and admission none of AWS, admission reaches no cluster, and the sweep and
  # ec2-events handle all clusters.
  attachments = {
    for pair in setproduct([for name, given in local.granted : name if given], keys(local.functions)) :
    "${pair[0]}/${pair[1]}" => { policy = pair[0], function = pair[1] }
    if !(pair[0] == "assume-role" && contains(["sweep", "admission", "audit"], pair[1]))
    && !(pair[0] == "cluster" && contains(["sweep", "ec2-events"], pair[1]))
    && !(pair[0] == "all-clusters" && !contains(["sweep", "ec2-events"], pair[1]))
    && !(pair[0] == "fleet-brake" && pair[1] != "node-lifecycle")
  }
}
