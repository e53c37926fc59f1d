locals {
  prefix = "serverless-ccm-${var.stage}"

  # What roles' names begin with; IAM's roles are the account's, and not a region's.
  role_prefix = replace(coalesce(var.role_name_prefix, "${local.prefix}-"), "{region}", local.region)

  # A function for each file of functions/.
  every_function = {
    node = {
      description  = "Initializes and refreshes the nodes of a batch (cloud-node-controller)"
      memory_size  = 512
      timeout      = 30
      asynchronous = false
    }
    node-lifecycle = {
      description = "Marks nodes that are shut down and deletes those whose instance is gone (cloud-node-lifecycle-controller)"
      memory_size = 512
      # Less than the life of an intent to delete (src/core/node-lifecycle/state.ts).
      timeout      = 30
      asynchronous = false
    }
    csr = {
      description  = "Decides on the serving certificates that kubelets ask for (csr-approver)"
      memory_size  = 512
      timeout      = 30
      asynchronous = false
    }
    service = {
      description  = "Makes, keeps and deletes the load balancers of Services (service-lb-controller)"
      memory_size  = 512
      timeout      = 30
      asynchronous = false
    }
    route = {
      description  = "Keeps routes to the pods of each node (node-route-controller)"
      memory_size  = 512
      timeout      = 30
      asynchronous = false
    }
    tagging = {
      description  = "Keeps tags on the instances of nodes (tagging)"
      memory_size  = 512
      timeout      = 30
      asynchronous = false
    }
    sweep = {
      description  = "Finds what no relay has brought, and hands it to the other functions"
      memory_size  = 256
      timeout      = 120
      asynchronous = true
    }
    ec2-events = {
      description  = "Has nodes checked when EC2 reports that their instance stops or is terminated"
      memory_size  = 256
      timeout      = 45
      asynchronous = true
    }
    admission = {
      description = "Tells API servers whether a Service can have the load balancer that it asks for"
      memory_size = 512
      # API servers wait five seconds for an answer.
      timeout      = 6
      asynchronous = false
    }
    audit = {
      description = "Looks at the objects that API servers report as changed, and hands them to the other functions"
      memory_size = 256
      # API servers wait thirty seconds for an answer.
      timeout      = 28
      asynchronous = false
    }
  }

  # The sweep exists with any controllers, and ec2-events has no work without node-lifecycle.
  functions = {
    for name, definition in local.every_function : name => definition
    if name == "sweep" || contains(var.controllers, name == "ec2-events" ? "node-lifecycle" : name)
  }

  # The functions with a URL, and the simultaneous invocations that are reserved for each.
  url_concurrency = {
    admission = var.admission_concurrency
    audit     = var.audit_concurrency
  }

  # As the queues of these names will have them.
  failures_arn     = "arn:${local.partition}:sqs:${local.region}:${local.account}:${local.prefix}-failures"
  dead_letters_arn = "arn:${local.partition}:sqs:${local.region}:${local.account}:${local.prefix}-dead-letters"

  environment = {
    # Facts and identity never come from the metadata service: outside the cluster it answers for the wrong machine.
    AWS_EC2_METADATA_DISABLED   = "true"
    AWS_USE_FIPS_ENDPOINT       = tostring(var.fips)
    CLUSTERS_FILE               = var.clusters_path == null ? var.clusters_file : "ssm:${var.clusters_path}/"
    ALLOWED_NETWORKS            = join(",", var.allowed_networks)
    ALLOWED_SECRETS             = join(",", var.allowed_secrets)
    OTEL_EXPORTER_OTLP_ENDPOINT = var.otlp_endpoint
    STOP_SWITCH                 = local.stop_switch_path == null ? "" : "ssm:${local.stop_switch_path}/"
    ADMISSION_PUBLIC_KEYS       = join(",", var.admission_public_keys)
    AUDIT_PUBLIC_KEYS           = join(",", var.audit_public_keys)
    FLEET_BRAKE                 = var.fleet_brake == null ? "" : "s3://${var.fleet_brake}"
  }
}
