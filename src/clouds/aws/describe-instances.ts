import type { Instance as Ec2Instance, Filter } from "@aws-sdk/client-ec2";
import type { Ec2 } from "#clouds/aws/ec2.ts";
import type { Fault, Outcome } from "#clouds/aws/errors.ts";
import { type AwsCluster, listClusterTagKeys } from "#clouds/aws/ownership.ts";
import type { Session } from "#clouds/aws/session.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** EC2's maximum of values per call, over all its filters. */
const MAX_FILTER_VALUES = 200;

/** Maximum pages of a listing; later pages are not read. */
export const MAX_PAGES = 10;

/** Returns how many values a filter may have in addition to the other filters of its call. */
export function countFreeFilterValues(filters: readonly Filter[]): number {
  return MAX_FILTER_VALUES - filters.reduce((sum, { Values: values = [] }) => sum + values.length, 0);
}

/** An instance as EC2 describes it, and the account that owns its reservation. */
export interface FoundInstance {
  readonly id: string;
  readonly account: string;
  readonly instance: Ec2Instance;
}

/** The result of a query. If some instances have no id, or pages are left, absence proves nothing. */
export interface Listing {
  readonly found: readonly FoundInstance[];
  /** Number of instances without an id. */
  readonly unnamed: number;
  /** Whether all pages were read. */
  readonly isWhole: boolean;
}

/** A page of a listing, and the token of the next one. */
export interface Page extends Pick<Listing, "found" | "unnamed"> {
  readonly next: string | undefined;
}

/** The part of EC2 that a listing needs. */
export type InstanceReader = Pick<Ec2, "describeInstances">;

/**
 * Reads one page of DescribeInstances with filters. A page may be incomplete or empty although more instances
 * exist.
 */
export async function describePage(
  session: Session<InstanceReader>,
  filters: readonly Filter[],
  size: number,
  token?: string,
): Promise<Outcome<Page>> {
  const request = { Filters: [...filters], MaxResults: size, ...(token ? { NextToken: token } : {}) };
  const answer = await session.send("DescribeInstances", (ec2, signal) =>
    ec2.describeInstances(request, signal),
  );
  if (answer.kind === "fault") return answer;
  const { Reservations: reservations, NextToken: next } = answer.value;
  // The SDK parses any well-formed document, even a proxy's error page, as an object without reservations.
  if (reservations === undefined) {
    return fault("Unavailable", "DescribeInstances: the answer is not a list of reservations");
  }
  const described = reservations.flatMap(({ OwnerId: account = "", Instances: instances = [] }) =>
    instances.map((instance) => ({ account, instance })),
  );
  const found = described.flatMap(({ account, instance }): FoundInstance[] =>
    instance.InstanceId ? [{ id: instance.InstanceId, account, instance }] : [],
  );
  return ok({ found, unnamed: described.length - found.length, next: next || undefined });
}

/** Reads DescribeInstances with filters, page by page. */
export async function describeInstances(
  session: Session<InstanceReader>,
  filters: readonly Filter[],
): Promise<Outcome<Listing>> {
  const found: FoundInstance[] = [];
  let unnamed = 0;
  let token: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const listed = await describePage(session, filters, PAGE_SIZE, token);
    if (listed.kind === "fault") return listed;
    found.push(...listed.value.found);
    unnamed += listed.value.unnamed;
    const { next } = listed.value;
    if (next === undefined) return ok({ found, unnamed, isWhole: true });
    token = next;
  }
  return ok({ found, unnamed, isWhole: false });
}

/** Returns why the absence of an instance in a listing proves nothing; undefined if it does. */
export function findGap({ unnamed, isWhole }: Listing): Fault | undefined {
  if (isWhole && unnamed === 0) return undefined;
  const reason = isWhole ? "instances without an id" : `more pages than ${MAX_PAGES}`;
  return { code: "Unavailable", message: `DescribeInstances: the answer holds ${reason}` };
}

const PAGE_SIZE = 1000;

/**
 * Returns filters for instances of a cluster in these states: by VPC, tag or both; one of the two is always
 * configured. Clusters share the legacy tag's key, so `isClusterInstance` decides on ownership.
 */
export function buildClusterFilters(
  { vpc, clusterTag }: AwsCluster,
  states: readonly string[] = LIVE_STATES,
): Filter[] {
  return [
    ...(vpc === undefined ? [] : [{ Name: "vpc-id", Values: [vpc] }]),
    ...(clusterTag === undefined ? [] : [{ Name: "tag-key", Values: listClusterTagKeys(clusterTag) }]),
    { Name: "instance-state-name", Values: [...states] },
  ];
}

/** Whether an instance is neither shutting down nor terminated. */
export function isLive({ instance }: FoundInstance): boolean {
  return LIVE_STATES.includes(instance.State?.Name ?? "");
}

const LIVE_STATES = ["pending", "running", "stopping", "stopped"];
