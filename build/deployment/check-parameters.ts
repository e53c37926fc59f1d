/** A deployment's parameters as given, and its target. */
export interface Deployment {
  readonly given: Readonly<Record<string, string>>;
  /** The names that serverless.yml uses. */
  readonly known: readonly string[];
  readonly region: string;
  /** The functions that can be left out. */
  readonly choosable: readonly string[];
}

/**
 * Returns a sentence for each error of the parameters, which names one and says what to do; empty if they are
 * consistent.
 */
export function checkParameters(deployment: Deployment): string[] {
  return CHECKS.flatMap((check) => check(deployment));
}

const CHECKS: readonly ((deployment: Deployment) => readonly string[])[] = [
  ({ given, known }) =>
    Object.keys(given)
      .filter((name) => !known.includes(name))
      .map((name) => `unknown parameter ${name}; known parameters: ${known.join(", ")}`),
  ({ given, choosable }) =>
    splitList(given["controllers"] ?? "all")
      .filter((name) => name !== "all" && !choosable.includes(name))
      .map((name) => `controllers: there is no "${name}"; write all, or a list of ${choosable.join(", ")}`),
  ({ given: { controllers = "all" } }) =>
    splitList(controllers).length > 1 && splitList(controllers).includes("all")
      ? ['controllers: "all" stands alone; leave it out, or the others']
      : [],
  ...createUrlChecks("admission", "has a path that you signed", "infra admission-url --public-key"),
  ...createUrlChecks("audit", "has a token that you signed", "infra audit-webhook --public-key"),
  needs("vpcSubnetIds", "vpcSecurityGroupIds", "a function is attached to subnets with security groups"),
  needs("vpcSecurityGroupIds", "vpcSubnetIds", "security groups are those of a function in subnets"),
  needs("signInKeys", "signInSecrets", "these keys are used for the secrets alone that it names"),
  needs("webIdentityMaxSeconds", "webIdentityAudiences", "without audiences no token is asked for"),
  createSecondsCheck("webIdentityMaxSeconds", 60, 3_600),
  createBooleanCheck("sweepEveryMinute"),
  createBooleanCheck("fips"),
  createBooleanCheck("sessionRoles"),
  ({ given, region }) =>
    given["fips"] === "true" && !/^(us|ca)-/.test(region)
      ? [
          `fips: ${region} has no FIPS endpoints of EC2, Lambda and STS; deploy to a region that has them, or remove fips`,
        ]
      : [],
  ({ given: { otlpEndpoint: url } }) =>
    url !== undefined && url !== "" && !/^https?:\/\/[^@]+$/.test(url)
      ? ["otlpEndpoint: not the URL of an OTLP endpoint over HTTP, without a password: http://HOST:4318"]
      : [],
  ({ given: { stopSwitchPath: path } }) =>
    path !== undefined && !/^(\/[\w.-]+)+$/.test(path)
      ? [
          `stopSwitchPath: "${path}" is not a path of SSM parameters that begins with a slash and ends without one: /serverless-ccm/stop`,
        ]
      : [],
  ({ given: { roleNamePrefix: prefix }, region }) =>
    prefix !== undefined && !/^[\w+=,.@-]{1,49}$/.test(prefix.replaceAll("{region}", region))
      ? [
          `roleNamePrefix: "${prefix}" is not a prefix of a role's name, of at most 49 letters, digits and _+=,.@- with {region} filled in: serverless-ccm-prod-{region}-`,
        ]
      : [],
  ({ given: { fleetBrake: record } }) =>
    record !== undefined && !/^[a-z0-9][a-z0-9-]{1,61}[a-z0-9](\/[\w.-]+)+$/.test(record)
      ? [`fleetBrake: "${record}" is not an object in S3, in a bucket without dots in its name: BUCKET/KEY`]
      : [],
  ...[
    "clustersLayerArn",
    "assumeRoleArn",
    "signInSecrets",
    "signInKeys",
    "signInRoleArn",
    "alarmTopicArn",
    "codeSigningConfigArn",
  ].map(createArnsCheck),
  ...["assumeRoleArn", "signInSecrets", "signInRoleArn"].map(createPlaceholdersCheck),
  ({ given: { alarmTopicArn: topic }, region }) =>
    topic !== undefined && !new RegExp(`^arn:[^:]+:sns:${region}:\\d{12}:[^:]+$`).test(topic)
      ? [`alarmTopicArn: "${topic}" is not the ARN of an SNS topic of ${region}, where the alarms are`]
      : [],
  ({ given: { clustersLayerArn: arn }, region }) =>
    arn !== undefined && !new RegExp(`^arn:[^:]+:lambda:${region}:\\d{12}:layer:[^:]+:\\d+$`).test(arn)
      ? [
          `clustersLayerArn: "${arn}" is not the version of a layer of ${region}, where the functions are; publish the layer there`,
        ]
      : [],
  ({ given: { codeSigningConfigArn: arn }, region }) =>
    arn !== undefined &&
    !new RegExp(`^arn:[^:]+:lambda:${region}:\\d{12}:code-signing-config:csc-[a-z0-9]{17}$`).test(arn)
      ? [
          `codeSigningConfigArn: "${arn}" is not the ARN of a code signing configuration of ${region}, where the functions are`,
        ]
      : [],
];

const PUBLIC_KEYS = /^(?:MCowBQYDK2VwAyEA[A-Za-z0-9+/]{43}=(?:,(?=M)|$)){1,4}$/;

/** Checks the parameters of a function with a URL: its public keys, and its concurrency. */
function createUrlChecks(
  name: "admission" | "audit",
  who: string,
  command: string,
): readonly ((deployment: Deployment) => readonly string[])[] {
  const [keysName, concurrencyName] = [`${name}PublicKeys`, `${name}Concurrency`];
  return [
    ({ given: { controllers = "all", [keysName]: keys } }) =>
      splitList(controllers).includes(name) && keys === undefined
        ? [`${keysName} is missing: ${name} lets in who ${who}; \`${command}\` prints it`]
        : [],
    ({ given: { [keysName]: keys } }) =>
      keys !== undefined && !PUBLIC_KEYS.test(keys)
        ? [
            `${keysName}: not one to four public keys of Ed25519 as \`${command}\` prints them, with commas between`,
          ]
        : [],
    ({ given: { [concurrencyName]: text = "1" } }) =>
      /^[1-9]\d{0,4}$/.test(text)
        ? []
        : [`${concurrencyName}: "${text}" is not a number of invocations (at least 1)`],
  ];
}

/** Splits a list with commas. */
export function splitList(text: string): string[] {
  return text.split(",").map((item) => item.trim());
}

function needs(name: string, other: string, because: string): (deployment: Deployment) => string[] {
  return ({ given }) =>
    given[name] !== undefined && given[other] === undefined
      ? [`${name} is given without ${other}: ${because}; give both, or neither`]
      : [];
}

function createBooleanCheck(name: string): (deployment: Deployment) => string[] {
  return ({ given: { [name]: value = "true" } }) =>
    ["true", "false"].includes(value) ? [] : [`${name}: "${value}" is neither true nor false`];
}

function createSecondsCheck(name: string, least: number, most: number): (deployment: Deployment) => string[] {
  return ({ given: { [name]: value = String(least) } }) =>
    /^\d+$/.test(value) && Number(value) >= least && Number(value) <= most
      ? []
      : [`${name}: "${value}" is not a whole number of seconds from ${least} to ${most}`];
}

function createArnsCheck(name: string): (deployment: Deployment) => string[] {
  return ({ given, region }) => {
    const partition = findPartition(region);
    return splitList(given[name] ?? `arn:${partition}:`)
      .filter((arn) => !arn.startsWith(`arn:${partition}:`) && !arn.startsWith("arn:*:"))
      .map((arn) =>
        arn.startsWith("arn:")
          ? `${name}: "${arn}" is of another partition than ${region}, which is of ${partition}`
          : `${name}: "${arn}" is not an ARN; one begins with arn:${partition}:`,
      );
  };
}

function createPlaceholdersCheck(name: string): (deployment: Deployment) => string[] {
  return ({ given: { [name]: list = "" } }) =>
    splitList(list)
      .filter((arn) => /[{}]/.test(arn.replaceAll("{function}", "")))
      .map((arn) => `${name}: "${arn}": nothing but {function} stands in braces`);
}

/** Returns the partition of a region. */
function findPartition(region: string): string {
  const [, partition = "aws"] = PARTITIONS.find(([begins]) => region.startsWith(begins)) ?? [];
  return partition;
}

const PARTITIONS = [
  ["cn-", "aws-cn"],
  ["us-gov-", "aws-us-gov"],
  ["us-isob-", "aws-iso-b"],
  ["us-isof-", "aws-iso-f"],
  ["us-iso-", "aws-iso"],
  ["eu-isoe-", "aws-iso-e"],
  ["eusc-", "aws-eusc"],
] as const;
