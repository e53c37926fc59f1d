import { DescribeInstancesCommand, DescribeVpcsCommand, EC2Client } from "@aws-sdk/client-ec2";
import { GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";
import type { AwsCluster } from "#clouds/aws/belonging.ts";
import { clusterCredentials } from "#clouds/aws/cluster-credentials.ts";
import { diagnoseNetworkOnAws } from "#clouds/aws/diagnose-services.ts";
import { classify, type Fault } from "#clouds/aws/errors.ts";
import { HTTP_TIMEOUTS } from "#clouds/aws/http.ts";
import type { AwsCloudConfig } from "#clouds/aws/kind.ts";
import { liveFilters } from "#clouds/aws/live.ts";
import { isOurs } from "#clouds/aws/resolution.ts";
import type { Diagnosis } from "#clouds/diagnosis.ts";
import type { LoadCloudOptions } from "#clouds/kind.ts";
import { adviseOnAwsCredentials } from "#core/aws-credentials.ts";
import { type Finding, failed, ok, warning } from "#core/finding.ts";

/** A page may hold nothing of the cluster's although there are more; where none does by then, more are not worth the wait. */
const MAX_PAGES = 10;
const PAGE_SIZE = 100;

/** Looks for what is wrong with the configuration of a cluster on AWS, as the functions would sign their calls. */
export function diagnoseAws(config: AwsCloudConfig, loading: LoadCloudOptions): Diagnosis {
  const { clusterName } = loading;
  const forControllers = diagnoseNetworkOnAws(config, loading);
  const { region, vpc } = config;
  const name = clusterName ?? config.clusterTag ?? vpc ?? region;
  const credentials = clusterCredentials({ ...config, clusterName }, { name, purpose: "doctor" }, Date.now);
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
      aheadMs ??= aheadOf(result.response, Date.now());
      return result;
    },
    { step: "deserialize", name: "readDate" },
  );
  const whoami = (abortSignal: AbortSignal) => sts.send(new GetCallerIdentityCommand({}), { abortSignal });
  return {
    async credentials(abortSignal) {
      try {
        const { Account: account, Arn: arn } = await whoami(abortSignal);
        await ec2.send(new DescribeInstancesCommand({ MaxResults: 5 }), { abortSignal });
        return ok(`${arn} of account ${account}, in ${region}${sessionWords(config)}`);
      } catch (error) {
        const { code, message } = classify(error, "asking AWS who this is, and EC2 for a few instances");
        const advice = error instanceof Error ? adviseOnAwsCredentials(error.name) : undefined;
        return failed(message, advice ?? REMEDIES[code] ?? RETRY);
      }
    },
    async network(signal) {
      const missing = vpc === undefined ? undefined : await missingVpc(ec2, vpc, region, signal);
      return missing ?? instancesOf({ ...config, clusterName }, ec2, signal);
    },
    async clockAheadMs(signal) {
      if (aheadMs === undefined) await whoami(signal);
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

const RETRY = "run doctor again; see the network, and AWS's own health";
const REMEDIES: Partial<Record<Fault["code"], string>> = {
  Denied:
    "see roleArn, its trust policy and externalId, that the region is enabled for the account, and that ec2:DescribeInstances is allowed",
  Throttled: "run doctor again: the account's quota for this API is spent now",
};

/** How far sessions of the cluster's role are narrowed, and what is left to do; of the deployment's own roles nothing is known here. */
function sessionWords({ roleArn, sessionPolicy }: AwsCloudConfig): string {
  if (roleArn === undefined) return "";
  const hint =
    sessionPolicy === "strict"
      ? ""
      : ": see sessionPolicy, and set it to strict where the cluster can have it";
  return `; sessionPolicy ${sessionPolicy}${hint}`;
}

/** What is wrong with the VPC; undefined where it is there, or where it may not be looked at. */
async function missingVpc(
  ec2: EC2Client,
  vpc: string,
  region: string,
  abortSignal: AbortSignal,
): Promise<Finding | undefined> {
  try {
    await ec2.send(new DescribeVpcsCommand({ VpcIds: [vpc] }), { abortSignal });
    return undefined;
  } catch (error) {
    if (error instanceof Error && /^InvalidVpc(ID|Id)\./.test(error.name))
      return failed(
        `there is no VPC ${vpc} in ${region} of this account`,
        "see vpc, region and roleArn of the cluster's cloud: one of them is of another cluster",
      );
    // Nothing else needs that permission: instances tell as well.
    return undefined;
  }
}

/** Those that the functions would take for the cluster's. */
async function instancesOf(cluster: AwsCluster, ec2: EC2Client, abortSignal: AbortSignal): Promise<Finding> {
  const { vpc, clusterTag, region, clusterName } = cluster;
  const where = [
    ...(vpc === undefined ? [] : [`VPC ${vpc}`]),
    ...(clusterTag === undefined ? [] : [`tag kubernetes.io/cluster/${clusterTag}`]),
  ].join(", ");
  try {
    const { count, isWhole } = await countOf(cluster, ec2, abortSignal);
    const least = isWhole ? `${count}` : `at least ${count}`;
    if (count > 0) return ok(`${where} in ${region}: ${least} ${count === 1 ? "instance" : "instances"}`);
    return warning(
      `${where} in ${region}: no instance${isWhole ? "" : ` of this cluster in the first ${MAX_PAGES} pages`}`,
      `if cluster ${clusterName ?? ""} has nodes, see vpc, clusterTag, region and roleArn of its cloud`,
    );
  } catch (error) {
    const { code, message } = classify(error, "DescribeInstances");
    return failed(message, REMEDIES[code] ?? RETRY);
  }
}

async function countOf(
  cluster: AwsCluster,
  ec2: EC2Client,
  abortSignal: AbortSignal,
): Promise<{ readonly count: number; readonly isWhole: boolean }> {
  const Filters = liveFilters(cluster);
  let token: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const request = new DescribeInstancesCommand({
      Filters,
      MaxResults: PAGE_SIZE,
      ...(token === undefined ? {} : { NextToken: token }),
    });
    const { Reservations: reservations = [], NextToken: next } = await ec2.send(request, { abortSignal });
    const instances = reservations.flatMap(({ Instances: each = [] }) => each);
    const count = instances.filter((instance) => isOurs({ instance }, cluster)).length;
    if (count > 0 || !next) return { count, isWhole: !next };
    token = next;
  }
  return { count: 0, isWhole: false };
}

/** Milliseconds by which the `Date` of an answer is ahead; a header leaves out the part of a second. */
function aheadOf(response: unknown, now: number): number | undefined {
  const { headers } = response as { readonly headers?: Readonly<Record<string, string>> };
  const at = Date.parse(headers?.["date"] ?? "");
  if (Number.isNaN(at)) return undefined;
  const ahead = at - now;
  return ahead < 0 && ahead > -1_000 ? 0 : ahead;
}
