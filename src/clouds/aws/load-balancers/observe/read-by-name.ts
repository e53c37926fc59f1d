import type { LoadBalancerDescription } from "@aws-sdk/client-elastic-load-balancing";
import type { LoadBalancer } from "@aws-sdk/client-elastic-load-balancing-v2";
import type { Outcome } from "#clouds/aws/errors.ts";
import type { BalancerLists } from "#clouds/aws/load-balancers/observe/all-load-balancers.ts";
import type { Reader } from "#clouds/aws/load-balancers/observe/reads.ts";
import { isNotFound } from "#clouds/aws/load-balancers/observe/tags.ts";
import { fault, ok } from "#clouds/outcome.ts";

/**
 * One unknown name fails a request with several names. One name is read by itself; for more, all are listed,
 * which takes no more requests unless the account has hundreds.
 */
const MAX_SINGLE_READS = 1;

/** Options of a look-up by name. */
interface LookupOptions {
  readonly read: Reader;
  readonly lists: BalancerLists;
  /** One of the names never had a load balancer: all are listed, so that a count need not list them again. */
  readonly isNew: boolean;
}

/** The result for each name: undefined if it does not exist, a fault if the read failed. */
export type ByName<Value> = ReadonlyMap<string, Outcome<Value | undefined>>;

/** Reads load balancers of ELBv2 by name. */
export function readNetworkByName(
  names: readonly string[],
  { read, lists, isNew }: LookupOptions,
): Promise<ByName<LoadBalancer>> {
  return readByName(names, isNew, {
    async readOne(name) {
      const answer = await read("elbv2:DescribeLoadBalancers", { Names: [name] });
      return answer.kind === "fault"
        ? answer
        : toList("elbv2:DescribeLoadBalancers", answer.value.LoadBalancers);
    },
    readAll: () => lists.listNetwork(read),
    getName: ({ LoadBalancerName: name }) => name,
  });
}

/** Reads classic load balancers by name. */
export function readClassicByName(
  names: readonly string[],
  { read, lists, isNew }: LookupOptions,
): Promise<ByName<LoadBalancerDescription>> {
  return readByName(names, isNew, {
    async readOne(name) {
      const answer = await read("elb:DescribeLoadBalancers", { LoadBalancerNames: [name] });
      return answer.kind === "fault"
        ? answer
        : toList("elb:DescribeLoadBalancers", answer.value.LoadBalancerDescriptions);
    },
    readAll: () => lists.listClassic(read),
    getName: ({ LoadBalancerName: name }) => name,
  });
}

interface Lookups<Value> {
  readOne(name: string): Promise<Outcome<readonly Value[]>>;
  readAll(): Promise<Outcome<readonly Value[]>>;
  getName(value: Value): string | undefined;
}

async function readByName<Value>(
  names: readonly string[],
  isNew: boolean,
  { readOne, readAll, getName }: Lookups<Value>,
): Promise<ByName<Value>> {
  if (isNew || names.length > MAX_SINGLE_READS) {
    const listing = await readAll();
    if (listing.kind === "fault") return new Map(names.map((name) => [name, listing]));
    const valuesByName = new Map(listing.value.map((value) => [getName(value), value]));
    return new Map(names.map((name) => [name, ok(valuesByName.get(name))]));
  }
  const entries = names.map(async (name): Promise<[string, Outcome<Value | undefined>]> => {
    const answer = await readOne(name);
    if (answer.kind === "fault") return [name, isNotFound(answer.fault) ? ok(undefined) : answer];
    return [name, ok(answer.value.find((value) => getName(value) === name))];
  });
  return new Map(await Promise.all(entries));
}

/**
 * Rejects an answer without a list: it does not prove absence, because a proxy's error page parses the same
 * way.
 */
function toList<Value>(operation: string, values: readonly Value[] | undefined): Outcome<readonly Value[]> {
  return values === undefined ? fault("Unavailable", `${operation}: the answer is not a list`) : ok(values);
}
