# The alarms of infra/monitoring/cloudwatch-alarms.yaml for a deployment by serverless.yml; without sweeps there is no
# alarm about missing ones.
locals {
  sweep_alarms = {
    sweep-finds-gap = {
      description         = "Nodes or Services wait that the relay should have sent. docs/runbooks/sweep-finds-gap.md"
      namespace           = "serverless-ccm"
      metric_name         = "overdue"
      dimensions          = { functionPrefix = "${local.prefix}-" }
      statistic           = "Maximum"
      period              = 60
      evaluation_periods  = 3
      datapoints_to_alarm = 2
      threshold           = 0
      comparison_operator = "GreaterThanThreshold"
      treat_missing_data  = "notBreaching"
    }
    # Every sweep emits the metric, so missing data means that no sweep runs.
    sweep-silent = {
      description         = "No sweep has finished for five minutes. docs/runbooks/sweep-silent.md"
      namespace           = "serverless-ccm"
      metric_name         = "overdue"
      dimensions          = { functionPrefix = "${local.prefix}-" }
      statistic           = "SampleCount"
      period              = 60
      evaluation_periods  = 5
      datapoints_to_alarm = null
      threshold           = 1
      comparison_operator = "LessThanThreshold"
      treat_missing_data  = "breaching"
    }
    sweep-fails = {
      description         = "The sweep ends with an error or its time-out. docs/runbooks/sweep-fails.md"
      namespace           = "AWS/Lambda"
      metric_name         = "Errors"
      dimensions          = { FunctionName = "${local.prefix}-sweep" }
      statistic           = "Sum"
      period              = 60
      evaluation_periods  = 5
      datapoints_to_alarm = 3
      threshold           = 0
      comparison_operator = "GreaterThanThreshold"
      treat_missing_data  = "notBreaching"
    }
    load-balancers-orphaned = {
      description         = "Load balancers of Services that are gone are paid for. docs/runbooks/load-balancers-orphaned.md"
      namespace           = "serverless-ccm"
      metric_name         = "orphans"
      dimensions          = { functionPrefix = "${local.prefix}-" }
      statistic           = "Maximum"
      period              = 3600
      evaluation_periods  = 1
      datapoints_to_alarm = null
      threshold           = 0
      comparison_operator = "GreaterThanThreshold"
      treat_missing_data  = "notBreaching"
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "sweep" {
  for_each = var.sweep_every_minute ? local.sweep_alarms : {}

  alarm_name          = "${local.prefix}-${each.key}"
  alarm_description   = each.value.description
  namespace           = each.value.namespace
  metric_name         = each.value.metric_name
  dimensions          = each.value.dimensions
  statistic           = each.value.statistic
  period              = each.value.period
  evaluation_periods  = each.value.evaluation_periods
  datapoints_to_alarm = each.value.datapoints_to_alarm
  threshold           = each.value.threshold
  comparison_operator = each.value.comparison_operator
  treat_missing_data  = each.value.treat_missing_data
  alarm_actions       = local.alarm_actions
}
