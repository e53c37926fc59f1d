import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { lintTemplates } from "#test/infra/lint-template.ts";
import type { Template } from "#test/infra/packaged-template.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { ROOT } from "../../../build/bundle.ts";

const run = promisify(execFile);
const STACK = `${ROOT}infra/fleet-brake/bucket.yaml`;
const MODULE = `${ROOT}infra/terraform/fleet-brake`;

let stack: Template;
beforeAll(async () => {
  stack = parse(await readFile(STACK, "utf8"));
});

describe("the bucket of the fleet's record, by CloudFormation", () => {
  test("is encrypted, versioned and private to the account, and remains after the stack is deleted", () => {
    const { Bucket } = stack["Resources"];
    expect(Bucket).toMatchObject({ DeletionPolicy: "Retain", UpdateReplacePolicy: "Retain" });
    expect(Bucket.Properties).toMatchObject({
      BucketEncryption: { ServerSideEncryptionConfiguration: [expect.anything()] },
      VersioningConfiguration: { Status: "Enabled" },
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
    });
  });

  test("expires only old versions of the record", () => {
    for (const rule of stack["Resources"].Bucket.Properties.LifecycleConfiguration.Rules)
      expect(Object.keys(rule).toSorted()).toEqual(["Id", "NoncurrentVersionExpiration", "Status"]);
  });
});

describeWithPart("aws-tools", "its template", ({ cfnLint }) => {
  test("has no cfn-lint findings", async () => {
    expect(await lintTemplates(cfnLint, "eu-central-1", [STACK])).toBe("");
  });
});

describeWithPart("hcl2tojson", "the same bucket, by Terraform", ({ program, args }) => {
  const resources: Record<string, Template> = {};
  let values: Template;
  let outputs: Template;

  beforeAll(async () => {
    const flags = ["--quiet", "--strip-string-quotes", "--no-explicit-blocks"];
    const { stdout } = await run(program, [...args, ...flags, `${MODULE}/bucket.tf`]);
    const { resource, locals, output } = JSON.parse(stdout);
    for (const [type, named] of resource.flatMap((each: Template) => Object.entries(each)))
      resources[type] = (named as Template)["record"];
    [values] = locals;
    [outputs] = output;
  });

  /** The attributes of a resource of the bucket, without the reference to it. */
  const about = (type: string): Template => {
    const { bucket, depends_on: _, ...rest } = resources[type] ?? {};
    expect(bucket, type).toBe(`\${aws_s3_bucket.record.id}`);
    return rest;
  };

  test("has exactly what the stack has", () => {
    const { Properties } = stack["Resources"].Bucket;
    const { PublicAccessBlockConfiguration: blocked } = Properties;
    const [encryption] = Properties.BucketEncryption.ServerSideEncryptionConfiguration;
    const [owned] = Properties.OwnershipControls.Rules;
    const [earlier] = Properties.LifecycleConfiguration.Rules;
    const days = { noncurrent_days: earlier.NoncurrentVersionExpiration.NoncurrentDays };
    expect(Object.fromEntries(Object.keys(resources).map((type) => [type, type]))).toEqual(
      Object.fromEntries(
        [
          "aws_s3_bucket",
          "aws_s3_bucket_lifecycle_configuration",
          "aws_s3_bucket_ownership_controls",
          "aws_s3_bucket_policy",
          "aws_s3_bucket_public_access_block",
          "aws_s3_bucket_server_side_encryption_configuration",
          "aws_s3_bucket_versioning",
        ].map((type) => [type, type]),
      ),
    );
    const algorithm = { sse_algorithm: encryption.ServerSideEncryptionByDefault.SSEAlgorithm };
    expect(about("aws_s3_bucket_server_side_encryption_configuration")).toEqual({
      rule: [{ apply_server_side_encryption_by_default: [algorithm] }],
    });
    expect(about("aws_s3_bucket_ownership_controls")).toEqual({
      rule: [{ object_ownership: owned.ObjectOwnership }],
    });
    expect(about("aws_s3_bucket_public_access_block")).toEqual({
      block_public_acls: blocked.BlockPublicAcls,
      block_public_policy: blocked.BlockPublicPolicy,
      ignore_public_acls: blocked.IgnorePublicAcls,
      restrict_public_buckets: blocked.RestrictPublicBuckets,
    });
    expect(about("aws_s3_bucket_versioning")).toEqual({
      versioning_configuration: [{ status: Properties.VersioningConfiguration.Status }],
    });
    expect(about("aws_s3_bucket_lifecycle_configuration")).toEqual({
      rule: [{ id: earlier.Id, status: earlier.Status, filter: [{}], noncurrent_version_expiration: [days] }],
    });
    expect(Properties.BucketEncryption.ServerSideEncryptionConfiguration).toHaveLength(1);
    expect(Properties.OwnershipControls.Rules).toHaveLength(1);
    expect(Properties.LifecycleConfiguration.Rules).toHaveLength(1);
  });

  test("is not destroyed with the other resources, like the stack's", () => {
    expect(resources["aws_s3_bucket"]).toMatchObject({ lifecycle: [{ prevent_destroy: true }] });
    expect(resources["aws_s3_bucket"]).not.toHaveProperty("force_destroy");
  });

  test("rejects requests without TLS, like the stack's", () => {
    const { PolicyDocument } = stack["Resources"].BucketPolicy.Properties;
    const [statement] = PolicyDocument.Statement;
    const arn = "aws_s3_bucket.record.arn";
    expect(about("aws_s3_bucket_policy")).toEqual({ policy: `\${jsonencode(local.policy)}` });
    expect(values["policy"]).toEqual({
      ...PolicyDocument,
      Statement: [{ ...statement, Resource: [`\${${arn}}`, `\${${arn}}/*`] }],
    });
    expect(PolicyDocument.Statement).toHaveLength(1);
  });

  test("outputs its name, and requires the same provider as the neighbouring module", async () => {
    expect(outputs["bucket"]).toMatchObject({ value: `\${aws_s3_bucket.record.id}` });
    const versions = (folder: string): Promise<string> => readFile(`${folder}/versions.tf`, "utf8");
    expect(await versions(MODULE)).toBe(await versions(`${ROOT}infra/terraform`));
    expect((await readdir(MODULE)).toSorted()).toEqual(["bucket.tf", "versions.tf"]);
  });
});
