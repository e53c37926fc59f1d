locals {
  service_statements = [
    {
      Effect = "Allow"
      Action = [
        "ec2:DescribeAddresses",
        "ec2:DescribeAvailabilityZones",
        "ec2:DescribeInstances",
        "ec2:DescribeNetworkInterfaces",
        "ec2:DescribeRouteTables",
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeSubnets",
        "elasticloadbalancing:DescribeAccountLimits",
        "elasticloadbalancing:DescribeListeners",
        "elasticloadbalancing:DescribeLoadBalancerAttributes",
        "elasticloadbalancing:DescribeLoadBalancerPolicies",
        "elasticloadbalancing:DescribeLoadBalancers",
        "elasticloadbalancing:DescribeTags",
        "elasticloadbalancing:DescribeTargetGroupAttributes",
        "elasticloadbalancing:DescribeTargetGroups",
        "elasticloadbalancing:DescribeTargetHealth",
      ]
      Resource = "*"
    },
    {
      Effect   = "Allow"
      Action   = ["elasticloadbalancing:CreateLoadBalancer", "elasticloadbalancing:CreateTargetGroup"]
      Resource = "arn:${local.partition}:elasticloadbalancing:${local.region}:${local.account}:*"
      Condition = {
        "ForAnyValue:StringLike" = {
          "aws:TagKeys" = "kubernetes.io/cluster/*"
        }
      }
    },
    {
      Effect   = "Allow"
      Action   = "elasticloadbalancing:AddTags"
      Resource = "arn:${local.partition}:elasticloadbalancing:${local.region}:${local.account}:*"
      Condition = {
        StringEquals = {
          "elasticloadbalancing:CreateAction" = ["CreateLoadBalancer", "CreateTargetGroup", "CreateListener"]
        }
      }
    },
    {
      Effect = "Allow"
      Action = [
        "elasticloadbalancing:AddTags",
        "elasticloadbalancing:ApplySecurityGroupsToLoadBalancer",
        "elasticloadbalancing:AttachLoadBalancerToSubnets",
        "elasticloadbalancing:ConfigureHealthCheck",
        "elasticloadbalancing:CreateListener",
        "elasticloadbalancing:CreateLoadBalancerListeners",
        "elasticloadbalancing:CreateLoadBalancerPolicy",
        "elasticloadbalancing:DeleteListener",
        "elasticloadbalancing:DeleteLoadBalancer",
        "elasticloadbalancing:DeleteLoadBalancerListeners",
        "elasticloadbalancing:DeleteTargetGroup",
        "elasticloadbalancing:DeregisterInstancesFromLoadBalancer",
        "elasticloadbalancing:DeregisterTargets",
        "elasticloadbalancing:DetachLoadBalancerFromSubnets",
        "elasticloadbalancing:ModifyListener",
        "elasticloadbalancing:ModifyLoadBalancerAttributes",
        "elasticloadbalancing:ModifyTargetGroup",
        "elasticloadbalancing:ModifyTargetGroupAttributes",
        "elasticloadbalancing:RegisterInstancesWithLoadBalancer",
        "elasticloadbalancing:RegisterTargets",
        "elasticloadbalancing:RemoveTags",
        "elasticloadbalancing:SetIpAddressType",
        "elasticloadbalancing:SetLoadBalancerListenerSSLCertificate",
        "elasticloadbalancing:SetLoadBalancerPoliciesForBackendServer",
        "elasticloadbalancing:SetLoadBalancerPoliciesOfListener",
        "elasticloadbalancing:SetSecurityGroups",
        "elasticloadbalancing:SetSubnets",
      ]
      Resource = "arn:${local.partition}:elasticloadbalancing:${local.region}:${local.account}:*"
      Condition = {
        Null = {
          "aws:ResourceTag/kubernetes.io/service-name" = "false"
        }
      }
    },
    {
      Effect   = "Allow"
      Action   = "ec2:CreateSecurityGroup"
      Resource = "arn:${local.partition}:ec2:${local.region}:${local.account}:security-group/*"
      Condition = {
        "ForAnyValue:StringLike" = {
          "aws:TagKeys" = "kubernetes.io/cluster/*"
        }
      }
    },
    {
      Effect   = "Allow"
      Action   = "ec2:CreateSecurityGroup"
      Resource = "arn:${local.partition}:ec2:${local.region}:${local.account}:vpc/*"
    },
    {
      Effect = "Allow"
      Action = [
        "ec2:AuthorizeSecurityGroupIngress",
        "ec2:CreateTags",
        "ec2:DeleteSecurityGroup",
        "ec2:DeleteTags",
        "ec2:RevokeSecurityGroupIngress",
        "ec2:UpdateSecurityGroupRuleDescriptionsIngress",
      ]
      Resource = "arn:${local.partition}:ec2:${local.region}:${local.account}:security-group/*"
    },
    {
      Effect   = "Allow"
      Action   = "iam:CreateServiceLinkedRole"
      Resource = "arn:${local.partition}:iam::${local.account}:role/aws-service-role/elasticloadbalancing.amazonaws.com/*"
      Condition = {
        StringEquals = {
          "iam:AWSServiceName" = "elasticloadbalancing.amazonaws.com"
        }
      }
    },
    {
      Effect   = "Allow"
      Action   = ["ec2:DescribeAccountAttributes", "ec2:DescribeInternetGateways"]
      Resource = "*"
    },
  ]
}
