resource "aws_cloudwatch_event_rule" "function" {
  for_each = local.rules

  name                = "${local.prefix}-${each.key}"
  schedule_expression = each.value.schedule_expression
  event_pattern       = each.value.event_pattern
  state               = each.value.state
}

resource "aws_cloudwatch_event_target" "function" {
  for_each = local.rules

  rule      = aws_cloudwatch_event_rule.function[each.key].name
  target_id = "${local.prefix}-${each.key}-target"
  arn       = aws_lambda_function.function[each.key].arn

  # What cannot be handed to Lambda; what fails there is the function's own.
  retry_policy {
    maximum_event_age_in_seconds = 60
    maximum_retry_attempts       = each.value.maximum_retry_attempts
  }

  dead_letter_config {
    arn = aws_sqs_queue.dead_letters.arn
  }
}

resource "aws_lambda_permission" "function" {
  for_each = local.rules

  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.function[each.key].function_name
  principal     = "events.amazonaws.com"
  source_arn    = aws_cloudwatch_event_rule.function[each.key].arn
}
