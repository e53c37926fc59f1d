output "function_prefix" {
  description = "What the relay takes as --function-prefix."
  value       = "${local.prefix}-"
}

output "function_arns" {
  description = "By function: its ARN."
  value       = { for name, function in aws_lambda_function.function : name => function.arn }
}

output "role_arns" {
  description = "By function: the role that an API server takes for the function's user."
  value       = { for name, role in aws_iam_role.function : name => role.arn }
}

output "session_role_arns" {
  description = "By function: the role for clusters whose entries name none."
  value       = { for name, role in aws_iam_role.session : name => role.arn }
}

output "relay_policy_arn" {
  description = "What the role or user of the relay is to have attached; null without the function of a controller."
  value       = one([for policy in aws_iam_policy.relay : policy.arn])
}

output "queue_urls" {
  description = "The queues of failures that are not retried."
  value       = { failures = aws_sqs_queue.failures.url, dead-letters = aws_sqs_queue.dead_letters.url }
}

output "admission_url" {
  description = "What a ValidatingWebhookConfiguration has as its url, with the path that `infra admission-url` signs for a cluster; null without admission."
  value       = one([for name, url in aws_lambda_function_url.function : url.function_url if name == "admission"])
}

output "audit_url" {
  description = "What `infra audit-webhook` takes as --function-url; null without audit."
  value       = one([for name, url in aws_lambda_function_url.function : url.function_url if name == "audit"])
}
