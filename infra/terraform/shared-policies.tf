resource "aws_iam_policy" "shared" {
  for_each = { for name, given in local.granted : name => local.shared_statements[name] if given }

  name   = "${local.prefix}-${each.key}"
  policy = jsonencode({ Version = "2012-10-17", Statement = each.value })
}

resource "aws_iam_role_policy_attachment" "shared" {
  for_each = local.attachments

  role       = aws_iam_role.function[each.value.function].name
  policy_arn = aws_iam_policy.shared[each.value.policy].arn
}

# Not attached: the operator attaches it to the relay's own role or user. That needs the tag serverless-ccm-function:
# relay if variables contain {function}.
resource "aws_iam_policy" "relay" {
  for_each = length(local.relayed) == 0 ? toset([]) : toset(["relay"])

  name   = "${local.prefix}-${each.key}"
  policy = jsonencode({ Version = "2012-10-17", Statement = local.relay_statements })
}
