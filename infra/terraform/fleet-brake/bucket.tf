# A bucket for the record of the fleet's brake, if you have none: that of infra/fleet-brake/bucket.yaml, which a test
# compares. It is a separate module, because the record must outlive the deployments.
resource "aws_s3_bucket" "record" {
  bucket_prefix = "serverless-ccm-fleet-brake-"

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "record" {
  bucket = aws_s3_bucket.record.id

  rule {
    apply_server_side_encryption_by_default {
      sse_algorithm = "AES256"
    }
  }
}

resource "aws_s3_bucket_ownership_controls" "record" {
  bucket = aws_s3_bucket.record.id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_public_access_block" "record" {
  bucket                  = aws_s3_bucket.record.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

# Versions show who changed the record, and its earlier content. The record itself never expires, because that would
# release the brake.
resource "aws_s3_bucket_versioning" "record" {
  bucket = aws_s3_bucket.record.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "record" {
  # AWS takes it for earlier versions alone where there are such.
  depends_on = [aws_s3_bucket_versioning.record]

  bucket = aws_s3_bucket.record.id

  rule {
    id     = "earlier-versions"
    status = "Enabled"

    filter {}

    noncurrent_version_expiration {
      noncurrent_days = 30
    }
  }
}

resource "aws_s3_bucket_policy" "record" {
  bucket = aws_s3_bucket.record.id
  policy = jsonencode(local.policy)
}

locals {
  policy = {
    Version = "2012-10-17"
    Statement = [
      {
        Effect    = "Deny"
        Principal = "*"
        Action    = "s3:*"
        Resource  = [aws_s3_bucket.record.arn, "${aws_s3_bucket.record.arn}/*"]
        Condition = {
          Bool = { "aws:SecureTransport" = "false" }
        }
      },
    ]
  }
}

output "bucket" {
  description = "Its name, for the variable fleet_brake."
  value       = aws_s3_bucket.record.id
}
