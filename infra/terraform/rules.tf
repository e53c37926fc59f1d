locals {
  every_rule = {
    sweep = {
      schedule_expression    = "rate(1 minute)"
      event_pattern          = null
      state                  = var.sweep_every_minute ? "ENABLED" : "DISABLED"
      maximum_retry_attempts = 0
    }
    # Lambda's rejection may be over within that minute, and the event is not sent again.
    ec2-events = {
      schedule_expression = null
      event_pattern = jsonencode({
        source      = ["aws.ec2"]
        detail-type = ["EC2 Instance State-change Notification"]
        detail      = { state = ["stopping", "stopped", "shutting-down", "terminated"] }
      })
      state                  = "ENABLED"
      maximum_retry_attempts = 5
    }
  }

  rules = { for name, rule in local.every_rule : name => rule if contains(keys(local.functions), name) }
}
