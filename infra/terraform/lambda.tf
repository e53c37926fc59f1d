resource "aws_cloudwatch_log_group" "function" {
  for_each = local.functions

  name              = "/aws/lambda/${local.prefix}-${each.key}"
  retention_in_days = 30
}

resource "aws_lambda_function" "function" {
  for_each = local.functions

  function_name                  = "${local.prefix}-${each.key}"
  description                    = each.value.description
  role                           = aws_iam_role.function[each.key].arn
  runtime                        = "nodejs24.x"
  architectures                  = ["arm64"]
  handler                        = "index.handler"
  filename                       = "${var.package_folder}/${each.key}.zip"
  source_code_hash               = filebase64sha256("${var.package_folder}/${each.key}.zip")
  memory_size                    = each.value.memory_size
  timeout                        = each.value.timeout
  layers                         = [for arn in [var.clusters_layer_arn] : arn if arn != null]
  reserved_concurrent_executions = try(coalesce(local.url_concurrency[each.key]), var.reserved_concurrency)
  code_signing_config_arn        = var.code_signing_config_arn

  environment {
    variables = merge(local.environment, { for name, role in aws_iam_role.session : "SESSION_ROLE_ARN" => role.arn if name == each.key })
  }

  dynamic "vpc_config" {
    for_each = length(var.vpc_subnet_ids) > 0 ? ["vpc"] : []

    content {
      subnet_ids         = var.vpc_subnet_ids
      security_group_ids = var.vpc_security_group_ids
    }
  }

  # Its log group before it would make one that keeps everything, and its role whole.
  depends_on = [
    aws_cloudwatch_log_group.function,
    aws_iam_role_policy.function,
    aws_iam_role_policy.assume_session,
    aws_iam_role_policy_attachment.shared,
  ]
}

# The caller owns the retries; Lambda's own would come in addition, after one and two minutes.
resource "aws_lambda_function_event_invoke_config" "function" {
  for_each = local.functions

  function_name                = aws_lambda_function.function[each.key].function_name
  maximum_retry_attempts       = 0
  maximum_event_age_in_seconds = each.value.asynchronous ? 60 : null

  dynamic "destination_config" {
    for_each = each.value.asynchronous ? ["failures"] : []

    content {
      on_failure {
        destination = aws_sqs_queue.failures.arn
      }
    }
  }
}

# The caller has a path or token that is signed for its cluster, because no API server signs as AWS does.
resource "aws_lambda_function_url" "function" {
  for_each = { for name, definition in local.functions : name => definition if contains(keys(local.url_concurrency), name) }

  function_name      = aws_lambda_function.function[each.key].function_name
  authorization_type = "NONE"
}

resource "aws_lambda_permission" "url" {
  for_each = aws_lambda_function_url.function

  function_name          = aws_lambda_function.function[each.key].function_name
  action                 = "lambda:InvokeFunctionUrl"
  principal              = "*"
  function_url_auth_type = "NONE"
}

# AWS asks for both of URLs that were made since October 2025: without this one every request is answered 403. A call of Lambda's API is
# not let in by it.
resource "aws_lambda_permission" "invoke_by_url" {
  for_each = aws_lambda_function_url.function

  function_name            = aws_lambda_function.function[each.key].function_name
  action                   = "lambda:InvokeFunction"
  principal                = "*"
  invoked_via_function_url = true
}
