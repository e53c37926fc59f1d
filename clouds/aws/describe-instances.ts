import type { Instance as Ec2Instance, Filter } from "@aws-sdk/client-ec2";
import type { Outcome } from "#clouds/aws/errors.ts";
import type { Session } from "#clouds/aws/session.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** EC2 takes at most this many values in a call, those of all its filters together. */
const MAX_FILTER_VALUES = 200;

/** A listing that has no end by then is not read further. */
export const MAX_PAGES = 10;

/** How many values a filter may have beside the other filters of its call. */
export function roomBeside(filters: readonly Filter[]): number {
  return MAX_FILTER_VALUES - filters.reduce((sum, { Values: values = [] }) => sum + values.length, 0);
}

/** An instance as EC2 describes it, and the account that owns its reservation. */
export interface Found {
  readonly id: string;
  readonly account: string;
  readonly instance: Ec2Instance;
}

/** What a query found. Where some have no id, or the end was not reached, nothing can be said to be absent. */
export interface Listing {
  readonly found: readonly Found[];
  /** How many have no id. */
  readonly unnamed: number;
  /** Whether these are all; EC2 has more pages than are looked at otherwise. */
  readonly isWhole: boolean;
}

/** A page of a listing, and where the next one begins. */
export interface Page extends Pick<Listing, "found" | "unnamed"> {
  readonly next: string | undefined;
}

/** DescribeInstances with filters: one page, which may hold less than there is, or nothing. */
export async function describePage(
  session: Session,
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
  // The SDK makes an object without reservations out of any well-formed document, be it a proxy's error page.
  if (reservations === undefined) {
    return fault("Unavailable", "DescribeInstances: the answer is not a list of reservations");
  }
  const described = reservations.flatMap(({ OwnerId: account = "", Instances: instances = [] }) =>
    instances.map((instance) => ({ account, instance })),
  );
  const found = described.flatMap(({ account, instance }): Found[] =>
    instance.InstanceId ? [{ id: instance.InstanceId, account, instance }] : [],
  );
  return ok({ found, unnamed: described.length - found.length, next: next || undefined });
}

/** DescribeInstances with filters, page by page. */
export async function describeInstances(
  session: Session,
  filters: readonly Filter[],
): Promise<Outcome<Listing>> {
  const found: Found[] = [];
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

/** A batch without its duplicates, cut to what fits a request. */
export function chunksOf<Value>(values: Iterable<Value>, size: number): Value[][] {
  const unique = [...new Set(values)];
  return Array.from({ length: Math.ceil(unique.length / size) }, (_, chunk) =>
    unique.slice(chunk * size, (chunk + 1) * size),
  );
}

const PAGE_SIZE = 1000;
