import { expect, test } from "vitest";
import { checkParameters } from "../../../build/deployment/check-parameters.ts";

const KEY = `MCowBQYDK2VwAyEA${"A".repeat(43)}=`;

const KNOWN = [
  "admissionConcurrency",
  "admissionPublicKeys",
  "auditConcurrency",
  "auditPublicKeys",
  "alarmTopicArn",
  "assumeRoleArn",
  "clustersLayerArn",
  "codeSigningConfigArn",
  "controllers",
  "fips",
  "otlpEndpoint",
  "stopSwitchPath",
  "fleetBrake",
  "roleNamePrefix",
  "signInKeys",
  "signInRoleArn",
  "signInSecrets",
  "sweepEveryMinute",
  "vpcSecurityGroupIds",
  "vpcSubnetIds",
  "webIdentityAudiences",
  "webIdentityMaxSeconds",
];

/** The parameters, the region, and the beginning of each fault. */
const ROWS: readonly [Readonly<Record<string, string>>, string, readonly string[]][] = [
  [{}, "us-east-1", []],
  [{ controllers: "node, csr", fips: "true", sweepEveryMinute: "false" }, "us-gov-west-1", []],
  [{ controllers: "all", fips: "false" }, "eu-central-1", []],
  [{ alarmTopicArn: "arn:aws-cn:sns:cn-north-1:123456789012:us" }, "cn-north-1", []],
  [{ assumeRoleArn: "arn:*:iam::*:role/ccm" }, "us-gov-west-1", []],
  [
    {
      signInSecrets: "arn:aws:ssm:{function}/*,arn:aws:ssm:b",
      signInRoleArn: "arn:aws:iam::1:role/{function}",
    },
    "us-east-1",
    [],
  ],
  [
    { signInSecrets: "arn:aws:ssm:{function}/*,arn:aws:ssm:{role}/*" },
    "us-east-1",
    ['signInSecrets: "arn:aws:ssm:{role}/*": nothing but {function} stands in braces'],
  ],
  [
    { controler: "node" },
    "us-east-1",
    ["unknown parameter controler; known parameters: admissionConcurrency, admission"],
  ],
  [{ controllers: "node,admission", admissionPublicKeys: KEY }, "us-east-1", []],
  [{ admissionPublicKeys: [KEY, KEY, KEY, KEY].join() }, "us-east-1", []],
  [{ controllers: "node,admission" }, "us-east-1", ["admissionPublicKeys is missing: admission lets in"]],
  [{ admissionPublicKeys: "" }, "us-east-1", ["admissionPublicKeys: not one to four public keys"]],
  [{ admissionPublicKeys: "secret" }, "us-east-1", ["admissionPublicKeys: not one to four public keys"]],
  [{ admissionPublicKeys: `${KEY},` }, "us-east-1", ["admissionPublicKeys: not one to four public keys"]],
  [{ admissionPublicKeys: [KEY, KEY, KEY, KEY, KEY].join() }, "us-east-1", ["admissionPublicKeys: not one"]],
  [{ controllers: "node,audit", auditPublicKeys: KEY }, "us-east-1", []],
  [{ controllers: "node,audit" }, "us-east-1", ["auditPublicKeys is missing: audit lets in"]],
  [{ auditPublicKeys: "secret" }, "us-east-1", ["auditPublicKeys: not one to four public keys"]],
  [{ auditConcurrency: "0" }, "us-east-1", ['auditConcurrency: "0" is not a number of invocations']],
  [{ admissionConcurrency: "5" }, "us-east-1", []],
  [{ admissionConcurrency: "0" }, "us-east-1", ['admissionConcurrency: "0" is not a number of invocations']],
  [{ controllers: "" }, "us-east-1", ['controllers: there is no ""; write all, or a list of node, csr']],
  [{ controllers: "node,sweep" }, "us-east-1", ['controllers: there is no "sweep"']],
  [{ controllers: "node,all" }, "us-east-1", ['controllers: "all" stands alone']],
  [{ vpcSubnetIds: "subnet-1" }, "us-east-1", ["vpcSubnetIds is given without vpcSecurityGroupIds"]],
  [{ vpcSecurityGroupIds: "sg-1" }, "us-east-1", ["vpcSecurityGroupIds is given without vpcSubnetIds"]],
  [{ signInKeys: "arn:aws:kms:x" }, "us-east-1", ["signInKeys is given without signInSecrets"]],
  [
    { webIdentityMaxSeconds: "59" },
    "us-east-1",
    ["webIdentityMaxSeconds is given without webIdentityAudiences", 'webIdentityMaxSeconds: "59" is not a'],
  ],
  [
    { webIdentityMaxSeconds: "3601", webIdentityAudiences: "a" },
    "us-east-1",
    ['webIdentityMaxSeconds: "3601" is not a whole number of seconds from 60 to 3600'],
  ],
  [{ sweepEveryMinute: "no" }, "us-east-1", ['sweepEveryMinute: "no" is neither true nor false']],
  [{ otlpEndpoint: "http://collector:4318" }, "us-east-1", []],
  [{ stopSwitchPath: "/ccm/stop" }, "us-east-1", []],
  [{ stopSwitchPath: "/ccm/stop/" }, "us-east-1", ["stopSwitchPath: "]],
  [{ stopSwitchPath: "ccm" }, "us-east-1", ["stopSwitchPath: "]],
  [{ clustersLayerArn: "arn:aws:lambda:eu-central-1:123456789012:layer:clusters:1" }, "eu-central-1", []],
  [
    { clustersLayerArn: "arn:aws:lambda:us-east-1:123456789012:layer:clusters:1" },
    "eu-central-1",
    [
      'clustersLayerArn: "arn:aws:lambda:us-east-1:123456789012:layer:clusters:1" is not the version of a layer of eu',
    ],
  ],
  [
    { clustersLayerArn: "arn:aws:lambda:eu-central-1:123456789012:layer:clusters" },
    "eu-central-1",
    [
      'clustersLayerArn: "arn:aws:lambda:eu-central-1:123456789012:layer:clusters" is not the version of a layer',
    ],
  ],
  [{ roleNamePrefix: "ccm-prod-{region}-" }, "us-east-1", []],
  [{ roleNamePrefix: "ccm-prod-{stage}-" }, "us-east-1", ['roleNamePrefix: "ccm-prod-{stage}-" is no']],
  [{ roleNamePrefix: "path/ccm-" }, "us-east-1", ["roleNamePrefix: "]],
  [{ roleNamePrefix: "" }, "us-east-1", ["roleNamePrefix: "]],
  [{ roleNamePrefix: "a".repeat(49) }, "us-east-1", []],
  [{ roleNamePrefix: `{region}${"a".repeat(41)}` }, "us-east-1", ["roleNamePrefix: "]],
  [{ fleetBrake: "my-bucket/cells/one.json" }, "us-east-1", []],
  [{ fleetBrake: "s3://my-bucket/one.json" }, "us-east-1", ["fleetBrake: "]],
  [{ fleetBrake: "my.bucket/one.json" }, "us-east-1", ["fleetBrake: "]],
  [{ otlpEndpoint: "collector:4317" }, "us-east-1", ["otlpEndpoint: not the URL"]],
  [{ otlpEndpoint: "https://me:secret@collector" }, "us-east-1", ["otlpEndpoint: not the URL"]],
  [{ fips: "yes" }, "us-east-1", ['fips: "yes" is neither true nor false']],
  [{ fips: "true" }, "eu-central-1", ["fips: eu-central-1 has no FIPS endpoints"]],
  [{ codeSigningConfigArn: signingConfig("us-east-1") }, "us-east-1", []],
  [
    { codeSigningConfigArn: signingConfig("us-west-2") },
    "us-east-1",
    [
      `codeSigningConfigArn: "${signingConfig("us-west-2")}" is not the ARN of a code signing configuration of us-east-1`,
    ],
  ],
  [
    { codeSigningConfigArn: "csc-0f6c334abcdea4d8b" },
    "us-east-1",
    ["codeSigningConfigArn: ", "codeSigningConfigArn: "],
  ],
  [{ assumeRoleArn: "ccm" }, "us-east-1", ['assumeRoleArn: "ccm" is not an ARN; one begins with arn:aws:']],
  [
    { signInSecrets: "arn:aws-us-gov:ssm:a,arn:aws:ssm:b" },
    "us-gov-east-1",
    ['signInSecrets: "arn:aws:ssm:b" is of another partition than us-gov-east-1, which is of aws-us-gov'],
  ],
  [
    { alarmTopicArn: "arn:aws:sns:us-west-2:123456789012:us" },
    "us-east-1",
    ['alarmTopicArn: "arn:aws:sns:us-west-2:123456789012:us" is not the ARN of an SNS topic of us-east-1'],
  ],
  [
    { alarmTopicArn: "arn:aws:sqs:us-east-1:123456789012:us" },
    "us-east-1",
    ['alarmTopicArn: "arn:aws:sqs:us-east-1:123456789012:us" is not the ARN of an SNS topic'],
  ],
];

test.each(ROWS)("%j in %s: %j", (given, region, beginnings) => {
  const faults = checkParameters({
    given,
    region,
    known: KNOWN,
    choosable: ["node", "csr", "admission", "audit"],
  });
  expect(faults.map((fault, index) => fault.slice(0, beginnings[index]?.length))).toEqual(beginnings);
});

function signingConfig(region: string): string {
  return `arn:aws:lambda:${region}:123456789012:code-signing-config:csc-0f6c334abcdea4d8b`;
}
