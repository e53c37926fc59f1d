import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { PUBLIC_KEY } from "#test/functions/admission/review-builders.ts";
import { makePackagingFolder, type PackagingFolder, type Template } from "#test/infra/packaged-template.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { ROOT } from "../../../build/bundle.ts";

const run = promisify(execFile);
const MODULE = `${ROOT}infra/terraform`;

/** The module's kinds of resources, by kind in CloudFormation; `AWS::S3::…` and the like belong to osls. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  "AWS::CloudWatch::Alarm": ["aws_cloudwatch_metric_alarm"],
  "AWS::Events::Rule": ["aws_cloudwatch_event_rule", "aws_cloudwatch_event_target"],
  "AWS::IAM::ManagedPolicy": ["aws_iam_policy", "aws_iam_role_policy_attachment"],
  "AWS::IAM::Role": ["aws_iam_role", "aws_iam_role_policy"],
  "AWS::Lambda::EventInvokeConfig": ["aws_lambda_function_event_invoke_config"],
  "AWS::Lambda::Function": ["aws_lambda_function"],
  "AWS::Lambda::Permission": ["aws_lambda_permission"],
  "AWS::Lambda::Url": ["aws_lambda_function_url"],
  "AWS::Logs::LogGroup": ["aws_cloudwatch_log_group"],
  "AWS::SQS::Queue": ["aws_sqs_queue"],
  "AWS::SQS::QueuePolicy": ["aws_sqs_queue_policy"],
};

/**
 * Attributes with the same form in both: the module's resource and attribute, the stack's resource and
 * attribute.
 */
const SAME = [
  ["aws_cloudwatch_log_group.function", "retention_in_days", "NodeLogGroup", "RetentionInDays"],
  ["aws_lambda_function.function", "runtime", "NodeLambdaFunction", "Runtime"],
  ["aws_lambda_function.function", "architectures", "NodeLambdaFunction", "Architectures"],
  ["aws_lambda_function.function", "handler", "NodeLambdaFunction", "Handler"],
  [
    "aws_lambda_function_event_invoke_config.function",
    "maximum_retry_attempts",
    "SweepLambdaEvConf",
    "MaximumRetryAttempts",
  ],
  ["aws_sqs_queue.failures", "kms_master_key_id", "FailuresQueue", "KmsMasterKeyId"],
  ["aws_sqs_queue.failures", "message_retention_seconds", "FailuresQueue", "MessageRetentionPeriod"],
  ["aws_sqs_queue.dead_letters", "sqs_managed_sse_enabled", "DeadLettersQueue", "SqsManagedSseEnabled"],
  ["aws_sqs_queue.dead_letters", "message_retention_seconds", "DeadLettersQueue", "MessageRetentionPeriod"],
  ["aws_cloudwatch_metric_alarm.queue", "namespace", "FailuresAlarm", "Namespace"],
  ["aws_cloudwatch_metric_alarm.queue", "metric_name", "FailuresAlarm", "MetricName"],
  ["aws_cloudwatch_metric_alarm.queue", "statistic", "FailuresAlarm", "Statistic"],
  ["aws_cloudwatch_metric_alarm.queue", "period", "FailuresAlarm", "Period"],
  ["aws_cloudwatch_metric_alarm.queue", "evaluation_periods", "FailuresAlarm", "EvaluationPeriods"],
  ["aws_cloudwatch_metric_alarm.queue", "threshold", "FailuresAlarm", "Threshold"],
  ["aws_cloudwatch_metric_alarm.queue", "comparison_operator", "FailuresAlarm", "ComparisonOperator"],
  ["aws_cloudwatch_metric_alarm.queue", "treat_missing_data", "FailuresAlarm", "TreatMissingData"],
  ["aws_lambda_permission.function", "action", "SweepEventBridgeLambdaPermission1", "Action"],
  ["aws_lambda_permission.function", "principal", "SweepEventBridgeLambdaPermission1", "Principal"],
] as const;

/** Attributes that are expressions of the module's values, which are compared separately. */
const MADE_OF: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "aws_cloudwatch_log_group.function": { name: `/aws/lambda/\${local.prefix}-\${each.key}` },
  "aws_lambda_function.function": {
    function_name: `\${local.prefix}-\${each.key}`,
    role: `\${aws_iam_role.function[each.key].arn}`,
    memory_size: `\${each.value.memory_size}`,
    timeout: `\${each.value.timeout}`,
    filename: `\${var.package_folder}/\${each.key}.zip`,
    reserved_concurrent_executions: `\${try(coalesce(local.url_concurrency[each.key]), var.reserved_concurrency)}`,
    code_signing_config_arn: `\${var.code_signing_config_arn}`,
  },
  "aws_lambda_function_event_invoke_config.function": {
    for_each: `\${local.functions}`,
    maximum_event_age_in_seconds: `\${each.value.asynchronous ? 60 : null}`,
  },
  "aws_iam_role.function": {
    for_each: `\${local.functions}`,
    name: `\${local.role_prefix}\${each.key}`,
    assume_role_policy: `\${jsonencode(local.trust_policy)}`,
    tags: { "serverless-ccm-function": `\${each.key}` },
  },
  "aws_iam_role_policy.function": {
    for_each: `\${local.functions}`,
    role: `\${aws_iam_role.function[each.key].name}`,
  },
  "aws_iam_role.session": {
    for_each: `\${local.sessions}`,
    name: `\${local.role_prefix}\${each.key}-session`,
  },
  "aws_iam_role_policy.session": {
    for_each: `\${local.sessions}`,
    role: `\${aws_iam_role.session[each.key].name}`,
  },
  "aws_iam_role_policy.assume_session": {
    for_each: `\${local.sessions}`,
    role: `\${aws_iam_role.function[each.key].name}`,
  },
  "aws_iam_policy.relay": {
    for_each: `\${length(local.relayed) == 0 ? toset([]) : toset(["relay"])}`,
    policy: `\${jsonencode({Version = "2012-10-17", Statement = local.relay_statements})}`,
  },
  "aws_iam_role_policy_attachment.shared": { for_each: `\${local.attachments}` },
  "aws_sqs_queue_policy.failures": { policy: `\${jsonencode(local.queue_policies.failures)}` },
  "aws_sqs_queue_policy.dead_letters": { policy: `\${jsonencode(local.queue_policies.dead_letters)}` },
  "aws_cloudwatch_event_rule.function": { for_each: `\${local.rules}`, state: `\${each.value.state}` },
  "aws_cloudwatch_event_target.function": { arn: `\${aws_lambda_function.function[each.key].arn}` },
  "aws_lambda_permission.function": { source_arn: `\${aws_cloudwatch_event_rule.function[each.key].arn}` },
  "aws_cloudwatch_metric_alarm.queue": {
    alarm_actions: `\${local.alarm_actions}`,
    ok_actions: `\${local.alarm_actions}`,
  },
};

/** The attributes of the module's alarms, with CloudFormation's names. */
const PROPERTIES: Readonly<Record<string, string>> = {
  description: "AlarmDescription",
  namespace: "Namespace",
  metric_name: "MetricName",
  statistic: "Statistic",
  period: "Period",
  evaluation_periods: "EvaluationPeriods",
  datapoints_to_alarm: "DatapointsToAlarm",
  threshold: "Threshold",
  comparison_operator: "ComparisonOperator",
  treat_missing_data: "TreatMissingData",
};

/** A variable that CloudFormation replaces. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: CloudFormation's own.
const PREFIX = "${FunctionPrefix}";

describeWithPart("hcl2tojson", "the Terraform module", ({ program, args }) => {
  let folder: PackagingFolder;
  let stack: Template;
  const resources: Record<string, Template> = {};
  const variables: Record<string, Template> = {};
  const values: Record<string, Template> = {};

  beforeAll(async () => {
    const flags = ["--quiet", "--strip-string-quotes", "--no-explicit-blocks"];
    for (const file of (await readdir(MODULE)).filter((name) => name.endsWith(".tf"))) {
      const { stdout } = await run(program, [...args, ...flags, `${MODULE}/${file}`]);
      const { resource = [], variable = [], locals = [] } = JSON.parse(stdout);
      for (const [type, named] of resource.flatMap((each: Template) => Object.entries(each)))
        for (const [name, attributes] of Object.entries(named)) resources[`${type}.${name}`] = attributes;
      Object.assign(variables, ...variable);
      Object.assign(values, ...locals);
    }
    folder = await makePackagingFolder();
    const parameters = {
      controllers: "node,node-lifecycle,csr,service,route,tagging,admission,audit",
      ...{ admissionPublicKeys: PUBLIC_KEY, auditPublicKeys: PUBLIC_KEY },
      vpcSubnetIds: "subnet-0123456789abcdef0",
      vpcSecurityGroupIds: "sg-0123456789abcdef0",
    };
    stack = (await folder.package(parameters)).resources;
  }, 240_000);
  afterAll(() => folder?.close());

  test("has the kinds of resources that the stack has", () => {
    const kinds = new Set(
      Object.values<Template>(stack).flatMap(({ Type }) => (Type.startsWith("AWS::S3::") ? [] : [Type])),
    );
    expect([...kinds].toSorted()).toEqual(Object.keys(KINDS).toSorted());
    const theirs = new Set(Object.keys(resources).map((address) => address.split(".")[0]));
    expect([...theirs].toSorted()).toEqual(Object.values(KINDS).flat().toSorted());
  });

  test.each(SAME)("%s has the %s that %s has as %s", (address, attribute, resource, property) => {
    const theirs = stack[resource].Properties[property];
    expect(theirs).toBeDefined();
    expect(resources[address][attribute]).toEqual(theirs);
  });

  test.each(Object.entries(MADE_OF))("%s consists of the compared values", (address, attributes) => {
    expect(resources[address]).toMatchObject(attributes);
  });

  test("gives Lambda and EventBridge the failure queues and retry limits", () => {
    const [{ destination_config: handing }] =
      resources["aws_lambda_function_event_invoke_config.function"].dynamic;
    expect(handing).toEqual({
      for_each: `\${each.value.asynchronous ? ["failures"] : []}`,
      content: [{ on_failure: [{ destination: `\${aws_sqs_queue.failures.arn}` }] }],
    });
    const [{ RetryPolicy }] = stack["Serverlessccmdevsweeprule1EventBridgeRule"].Properties.Targets;
    expect(resources["aws_cloudwatch_event_target.function"]).toMatchObject({
      retry_policy: [
        {
          maximum_event_age_in_seconds: RetryPolicy.MaximumEventAgeInSeconds,
          maximum_retry_attempts: `\${each.value.maximum_retry_attempts}`,
        },
      ],
      dead_letter_config: [{ arn: `\${aws_sqs_queue.dead_letters.arn}` }],
    });
  });

  test("has the permissions of the stack, with the same conditions", () => {
    const permitted = (list: readonly Template[]): string[] => [
      ...new Set(list.map((each) => JSON.stringify(each)).toSorted()),
    ];
    const ours = Object.entries(resources).flatMap(([address, attributes]) =>
      address.startsWith("aws_lambda_permission.")
        ? [
            {
              action: attributes.action,
              principal: attributes.principal,
              authType: attributes.function_url_auth_type,
              viaUrl: attributes.invoked_via_function_url,
              hasSource: attributes.source_arn !== undefined,
            },
          ]
        : [],
    );
    const theirs = Object.values<Template>(stack).flatMap(({ Type, Properties }) =>
      Type === "AWS::Lambda::Permission"
        ? [
            {
              action: Properties.Action,
              principal: Properties.Principal,
              authType: Properties.FunctionUrlAuthType,
              viaUrl: Properties.InvokedViaFunctionUrl,
              hasSource: Properties.SourceArn !== undefined,
            },
          ]
        : [],
    );
    expect(permitted(ours)).toEqual(permitted(theirs));
    expect(permitted(theirs)).toHaveLength(3);
    for (const name of ["url", "invoke_by_url"])
      expect(resources[`aws_lambda_permission.${name}`]).toMatchObject({
        for_each: `\${aws_lambda_function_url.function}`,
        function_name: `\${aws_lambda_function.function[each.key].function_name}`,
      });
  });

  test("has the alarm settings of the stack", () => {
    const said = Object.values<Template>(values["alarms"]).map(({ description }) => description);
    expect(said).toEqual([
      stack["FailuresAlarm"].Properties.AlarmDescription,
      stack["DeadLettersAlarm"].Properties.AlarmDescription,
    ]);
  });

  test("has the alarms of infra/monitoring, with equal settings", async () => {
    const text = await readFile(`${ROOT}infra/monitoring/cloudwatch-alarms.yaml`, "utf8");
    const theirs = Object.values<Template>(parse(text, { logLevel: "silent" }).Resources).map(
      ({ Properties: { AlarmName, AlarmActions: _, Dimensions = [], ...rest } }) => ({
        name: AlarmName.replace(PREFIX, ""),
        dimensions: Object.fromEntries(
          Dimensions.map(({ Name, Value }: Template) => [Name, Value.replace(PREFIX, `\${local.prefix}-`)]),
        ),
        ...rest,
      }),
    );
    const ours = Object.entries<Template>(values["sweep_alarms"]).map(([name, { dimensions, ...rest }]) => ({
      name,
      dimensions,
      ...Object.fromEntries(
        Object.entries(rest).flatMap(([key, value]) =>
          value === null ? [] : [[PROPERTIES[key] ?? key, value]],
        ),
      ),
    }));
    expect(ours).toEqual(theirs);
    expect(resources["aws_cloudwatch_metric_alarm.sweep"]).toMatchObject({
      for_each: `\${var.sweep_every_minute ? local.sweep_alarms : {}}`,
      alarm_name: `\${local.prefix}-\${each.key}`,
      ...Object.fromEntries(
        Object.keys(PROPERTIES).map((key) => [
          key === "description" ? "alarm_description" : key,
          `\${each.value.${key}}`,
        ]),
      ),
    });
  });

  test("has a variable for each parameter, and lists all in its README", async () => {
    const text = await readFile(`${ROOT}serverless.yml`, "utf8");
    const parameters = [...text.matchAll(/^# {3}--param (\w+)=/gm)].map(([, name = ""]) => name);
    const names = parameters.map((name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
    expect(Object.keys(variables).toSorted()).toEqual([...names, "package_folder", "stage"].toSorted());
    const readme = await readFile(`${MODULE}/README.md`, "utf8");
    for (const name of Object.keys(variables)) expect(readme).toContain(`\`${name}\``);
  });
});
