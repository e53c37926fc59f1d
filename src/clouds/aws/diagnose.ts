import { DescribeInstancesCommand, DescribeVpcsCommand, EC2Client } from "@aws-sdk/client-ec2";
import { GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";
import { createClusterCredentials } from "#clouds/aws/cluster-credentials.ts";
import type { AwsCloudConfig } from "#clouds/aws/config.ts";
import { buildClusterFilters } from "#clouds/aws/describe-instances.ts";
import { diagnoseNetworkOnAws } from "#clouds/aws/diagnose-services.ts";
import { classify, type Fault } from "#clouds/aws/errors.ts";
import type { AwsCluster } from "#clouds/aws/ownership.ts";
import { isClusterInstance } from "#clouds/aws/resolution.ts";
import type { Diagnosis } from "#clouds/diagnosis.ts";
import type { LoadCloudOptions } from "#clouds/provider.ts";
import { getAwsCredentialsAdvice } from "#core/aws-credentials.ts";
import { type CheckResult, reportFailure, reportOk, reportWarning } from "#core/check-result.ts";
import { HTTP_TIMEOUTS } from "#platforms/aws/http.ts";

/**
 * Maximum pages read. A page may hold nothing of the cluster although later pages do; more pages are not
 * worth the wait.
 */
const MAX_PAGES = 10;
const PAGE_SIZE = 100;

/** Checks the configuration of a cluster on AWS. Calls are signed as the functions sign them. */
export function diagnoseAws(config: AwsCloudConfig, loading: LoadCloudOptions): Diagnosis {
  const { clusterName } = loading;
  const forControllers = diagnoseNetworkOnAws(config, loading);
  const { region, vpc } = config;
  const name = clusterName ?? config.clusterTag ?? vpc ?? region;
  const credentials = createClusterCredentials(
    { ...config, clusterName },
    { name, purpose: "doctor" },
    Date.now,
  );
  const options = {
    region,
    maxAttempts: 2,
    requestHandler: HTTP_TIMEOUTS,
    ...(credentials === undefined ? {} : { credentials }),
  };
  const ec2 = new EC2Client(options);
  const sts = new STSClient(options);
  let aheadMs: number | undefined;
  sts.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      aheadMs ??= measureClockSkew(result.response, Date.now());
      return result;
    },
    { step: "deserialize", name: "readDate" },
  );
  const getCallerIdentity = (abortSignal: AbortSignal) =>
    sts.send(new GetCallerIdentityCommand({}), { abortSignal });
  return {
    async credentials(abortSignal) {
      try {
        const { Account: account, Arn: arn } = await getCallerIdentity(abortSignal);
        await ec2.send(new DescribeInstancesCommand({ MaxResults: 5 }), { abortSignal });
        return reportOk(`${arn} of account ${account}, in ${region}${describeSession(config)}`);
      } catch (error) {
        const { code, message } = classify(error, "GetCallerIdentity and DescribeInstances");
        const advice = error instanceof Error ? getAwsCredentialsAdvice(error.name) : undefined;
        return reportFailure(message, advice ?? REMEDIES[code] ?? RETRY);
      }
    },
    async network(signal) {
      const missing = vpc === undefined ? undefined : await checkVpc(ec2, vpc, region, signal);
      return missing ?? checkInstances({ ...config, clusterName }, ec2, signal);
    },
    async clockAheadMs(signal) {
      if (aheadMs === undefined) await getCallerIdentity(signal);
      return aheadMs;
    },
    forControllers,
    close() {
      forControllers.close();
      ec2.destroy();
      sts.destroy();
    },
  };
}

const RETRY = "run doctor again; check the network and the AWS Health Dashboard";
const REMEDIES: Partial<Record<Fault["code"], string>> = {
  Denied:
    "see roleArn, its trust policy and externalId, that the region is enabled for the account, and that ec2:DescribeInstances is allowed",
  Throttled: "run doctor again: the account's quota for this API is spent now",
};

/**
 * Describes how narrowly sessions of the cluster's role are limited, and the remaining step. The deployment's
 * own roles are unknown here.
 */
function describeSession({ roleArn, sessionPolicy }: AwsCloudConfig): string {
  if (roleArn === undefined) return "";
  const hint =
    sessionPolicy === "strict"
      ? ""
      : ": see sessionPolicy, and set it to strict where the cluster can have it";
  return `; sessionPolicy ${sessionPolicy}${hint}`;
}

/** Checks the VPC; undefined if it exists or may not be read. */
async function checkVpc(
  ec2: EC2Client,
  vpc: string,
  region: string,
  abortSignal: AbortSignal,
): Promise<CheckResult | undefined> {
  try {
    await ec2.send(new DescribeVpcsCommand({ VpcIds: [vpc] }), { abortSignal });
    return undefined;
  } catch (error) {
    if (error instanceof Error && /^InvalidVpc(ID|Id)\./.test(error.name))
      return reportFailure(
        `there is no VPC ${vpc} in ${region} of this account`,
        "see vpc, region and roleArn of the cluster's cloud: one of them is of another cluster",
      );
    // No function needs that permission: instances name their VPC as well.
    return undefined;
  }
}

/** Checks the instances that the functions would treat as the cluster's. */
async function checkInstances(
  cluster: AwsCluster,
  ec2: EC2Client,
  abortSignal: AbortSignal,
): Promise<CheckResult> {
  const { vpc, clusterTag, region, clusterName } = cluster;
  const place = [
    ...(vpc === undefined ? [] : [`VPC ${vpc}`]),
    ...(clusterTag === undefined ? [] : [`tag kubernetes.io/cluster/${clusterTag}`]),
  ].join(", ");
  try {
    const { count, isWhole } = await countInstances(cluster, ec2, abortSignal);
    const countText = isWhole ? `${count}` : `at least ${count}`;
    if (count > 0)
      return reportOk(`${place} in ${region}: ${countText} ${count === 1 ? "instance" : "instances"}`);
    return reportWarning(
      `${place} in ${region}: no instance${isWhole ? "" : ` of this cluster in the first ${MAX_PAGES} pages`}`,
      `if cluster ${clusterName ?? ""} has nodes, see vpc, clusterTag, region and roleArn of its cloud`,
    );
  } catch (error) {
    const { code, message } = classify(error, "DescribeInstances");
    return reportFailure(message, REMEDIES[code] ?? RETRY);
  }
}

async function countInstances(
  cluster: AwsCluster,
  ec2: EC2Client,
  abortSignal: AbortSignal,
): Promise<{ readonly count: number; readonly isWhole: boolean }> {
  const Filters = buildClusterFilters(cluster);
  let token: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const request = new DescribeInstancesCommand({
      Filters,
      MaxResults: PAGE_SIZE,
      ...(token === undefined ? {} : { NextToken: token }),
    });
    const { Reservations: reservations = [], NextToken: next } = await ec2.send(request, { abortSignal });
    const instances = reservations.flatMap(({ Instances: each = [] }) => each);
    const count = instances.filter((instance) => isClusterInstance({ instance }, cluster)).length;
    if (count > 0 || !next) return { count, isWhole: !next };
    token = next;
  }
  return { count: 0, isWhole: false };
}

/** Milliseconds by which an answer's `Date` header is ahead; the header has whole seconds. */
function measureClockSkew(response: unknown, now: number): number | undefined {
  const { headers } = response as { readonly headers?: Readonly<Record<string, string>> };
  const at = Date.parse(headers?.["date"] ?? "");
  if (Number.isNaN(at)) return undefined;
  const ahead = at - now;
  return ahead < 0 && ahead > -1_000 ? 0 : ahead;
}
