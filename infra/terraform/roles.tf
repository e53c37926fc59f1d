resource "aws_iam_role" "function" {
  for_each = local.functions

  name               = "${local.role_prefix}${each.key}"
  description        = each.value.description
  assume_role_policy = jsonencode(local.trust_policy)
  tags               = { serverless-ccm-function = each.key }
}

resource "aws_iam_role_policy" "function" {
  for_each = local.functions

  name = "function"
  role = aws_iam_role.function[each.key].name

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat([{
      Effect   = "Allow"
      Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
      Resource = "arn:${local.partition}:logs:${local.region}:${local.account}:log-group:/aws/lambda/${local.prefix}-${each.key}:*"
    }], local.statements[each.key])
  })
}

# A function assumes these for one cluster whose entry has no role, with a session policy only for that cluster.
resource "aws_iam_role" "session" {
  for_each = local.sessions

  name        = "${local.role_prefix}${each.key}-session"
  description = "Clusters whose entries name no role, for ${each.key}"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { AWS = aws_iam_role.function[each.key].arn }
      Action    = "sts:AssumeRole"
    }]
  })

  tags = { serverless-ccm-session = each.key }
}

resource "aws_iam_role_policy" "session" {
  for_each = local.sessions

  name   = "session"
  role   = aws_iam_role.session[each.key].name
  policy = jsonencode({ Version = "2012-10-17", Statement = local.statements[each.key] })
}

resource "aws_iam_role_policy" "assume_session" {
  for_each = local.sessions

  name = "assume-session"
  role = aws_iam_role.function[each.key].name

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect   = "Allow"
      Action   = "sts:AssumeRole"
      Resource = aws_iam_role.session[each.key].arn
    }]
  })
}
