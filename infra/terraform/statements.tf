locals {
  # The rights of each function in addition to its log; the same statements in serverless.yml have the reasons.
  statements = {
    node = [
      {
        Effect = "Allow"
        Action = [
          "ec2:DescribeInstances",
          "ec2:DescribeAvailabilityZones",
          "ec2:DescribeInstanceTopology",
          "ec2:DescribeNetworkInterfaces",
        ]
        Resource = "*"
      },
    ]
    "node-lifecycle" = [
      {
        Effect   = "Allow"
        Action   = ["ec2:DescribeInstances", "ec2:DescribeNetworkInterfaces"]
        Resource = "*"
      },
    ]
    csr = [
      {
        Effect   = "Allow"
        Action   = ["ec2:DescribeInstances", "ec2:DescribeNetworkInterfaces"]
        Resource = "*"
      },
    ]
    route = [
      {
        Effect   = "Allow"
        Action   = ["ec2:DescribeRouteTables", "ec2:DescribeInstances"]
        Resource = "*"
      },
      {
        Effect   = "Allow"
        Action   = ["ec2:CreateRoute", "ec2:ReplaceRoute", "ec2:DeleteRoute"]
        Resource = "arn:${local.partition}:ec2:${local.region}:${local.account}:route-table/*"
      },
      {
        Effect   = "Allow"
        Action   = "ec2:ModifyInstanceAttribute"
        Resource = "arn:${local.partition}:ec2:${local.region}:${local.account}:instance/*"
        Condition = {
          StringEqualsIgnoreCase = {
            "ec2:Attribute/SourceDestCheck" = "false"
          }
        }
      },
      {
        Effect   = "Allow"
        Action   = "ec2:ModifyNetworkInterfaceAttribute"
        Resource = "arn:${local.partition}:ec2:${local.region}:${local.account}:network-interface/*"
        Condition = {
          StringEqualsIgnoreCase = {
            "ec2:Attribute/SourceDestCheck" = "false"
          }
        }
      },
      {
        Effect   = "Allow"
        Action   = "ec2:ModifyNetworkInterfaceAttribute"
        Resource = "arn:${local.partition}:ec2:${local.region}:${local.account}:instance/*"
      },
    ]
    tagging = [
      {
        Effect   = "Allow"
        Action   = "ec2:DescribeInstances"
        Resource = "*"
      },
      {
        Effect   = "Allow"
        Action   = ["ec2:CreateTags", "ec2:DeleteTags"]
        Resource = "arn:${local.partition}:ec2:${local.region}:${local.account}:instance/*"
        Condition = {
          "ForAllValues:StringNotLike" = {
            "aws:TagKeys" = ["kubernetes.io/*", "KubernetesCluster"]
          }
          Null = {
            "aws:TagKeys" = "false"
          }
        }
      },
    ]
    # What it asks DigitalOcean it asks with the cluster's token.
    admission = []
    audit = [
      {
        Effect   = "Allow"
        Action   = "lambda:InvokeFunction"
        Resource = [for name in local.relayed : "arn:${local.partition}:lambda:${local.region}:${local.account}:function:${local.prefix}-${name}"]
      },
    ]
    sweep = [
      {
        Effect = "Allow"
        Action = "lambda:InvokeFunction"
        # Each that a controller has, and itself: where clusters are many it hands them on in shards.
        Resource = [
          for name in keys(local.functions) : "arn:${local.partition}:lambda:${local.region}:${local.account}:function:${local.prefix}-${name}"
          if !contains(["ec2-events", "admission", "audit"], name)
        ]
      },
      {
        Effect   = "Allow"
        Action   = "sqs:SendMessage"
        Resource = local.failures_arn
      },
    ]
    "ec2-events" = [
      {
        Effect   = "Allow"
        Action   = "ec2:DescribeInstances"
        Resource = "*"
      },
      {
        Effect   = "Allow"
        Action   = "lambda:InvokeFunction"
        Resource = "arn:${local.partition}:lambda:${local.region}:${local.account}:function:${local.prefix}-node-lifecycle"
      },
      {
        Effect   = "Allow"
        Action   = "sqs:SendMessage"
        Resource = local.failures_arn
      },
    ]
    service = local.service_statements
  }
}
