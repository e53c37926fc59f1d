# Asynchronous invocations that failed or waited for longer than a minute. Every permitted sender may use AWS's own key.
resource "aws_sqs_queue" "failures" {
  name                      = "${local.prefix}-failures"
  kms_master_key_id         = "alias/aws/sqs"
  message_retention_seconds = 1209600
}

# What EventBridge could not hand to Lambda. It may not use that key, and so SQS's own encryption it is.
resource "aws_sqs_queue" "dead_letters" {
  name                      = "${local.prefix}-dead-letters"
  sqs_managed_sse_enabled   = true
  message_retention_seconds = 1209600
}

resource "aws_sqs_queue_policy" "failures" {
  queue_url = aws_sqs_queue.failures.url
  policy    = jsonencode(local.queue_policies.failures)
}

resource "aws_sqs_queue_policy" "dead_letters" {
  queue_url = aws_sqs_queue.dead_letters.url
  policy    = jsonencode(local.queue_policies.dead_letters)
}

locals {
  alarms = {
    failures = {
      description = "Sweeps or events of EC2 failed, or waited for longer than a minute, and lie in the queue. The functions' logs say why; delete the messages when that is mended: relays and the next sweep make up for them."
      queue       = aws_sqs_queue.failures.name
    }
    dead-letters = {
      description = "EventBridge could not invoke the sweep or ec2-events. Each message says why in its attributes ERROR_CODE and ERROR_MESSAGE: a permission or a function that is missing, or Lambda's refusals. Delete the messages when that is mended."
      queue       = aws_sqs_queue.dead_letters.name
    }
  }

  alarm_actions = [for arn in [var.alarm_topic_arn] : arn if arn != null]
}

resource "aws_cloudwatch_metric_alarm" "queue" {
  for_each = local.alarms

  alarm_name          = "${local.prefix}-${each.key}"
  alarm_description   = each.value.description
  namespace           = "AWS/SQS"
  metric_name         = "ApproximateNumberOfMessagesVisible"
  dimensions          = { QueueName = each.value.queue }
  statistic           = "Maximum"
  period              = 60
  evaluation_periods  = 1
  threshold           = 0
  comparison_operator = "GreaterThanThreshold"
  # SQS sends no metrics of a queue that has not been used for hours.
  treat_missing_data = "notBreaching"
  alarm_actions      = local.alarm_actions
  ok_actions         = local.alarm_actions
}
