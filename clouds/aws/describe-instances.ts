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

/** DescribeInstances with filters, page by page. */
export async function describeInstances(
  session: Session,
  filters: readonly Filter[],
): Promise<Outcome<Listing>> {
  const found: Found[] = [];
  let unnamed = 0;
  let token: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const request = { Filters: [...filters], MaxResults: PAGE_SIZE, ...(token ? { NextToken: token } : {}) };
    const answer = await session.send("DescribeInstances", (ec2, signal) =>
      ec2.describeInstances(request, signal),
    );
    if (answer.kind === "fault") return answer;
    const { Reservations: reservations, NextToken: next } = answer.value;
    // The SDK makes an object without reservations out of any well-formed document, be it a proxy's error page.
    if (reservations === undefined) {
      return fault("Unavailable", "DescribeInstances: the answer is not a list of reservations");
    }
    for (const { OwnerId: account = "", Instances: instances = [] } of reservations) {
      for (const instance of instances) {
        if (instance.InstanceId) found.push({ id: instance.InstanceId, account, instance });
        else unnamed += 1;
      }
    }
    if (!next) return ok({ found, unnamed, isWhole: true });
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
