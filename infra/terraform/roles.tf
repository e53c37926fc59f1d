resource "aws_iam_role" "function" {
  for_each = local.functions

  name               = "${local.prefix}-${each.key}"
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
