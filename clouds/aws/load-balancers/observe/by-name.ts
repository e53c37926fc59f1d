import type { LoadBalancerDescription } from "@aws-sdk/client-elastic-load-balancing";
import type { LoadBalancer } from "@aws-sdk/client-elastic-load-balancing-v2";
import { errorOf } from "#clouds/aws/actions/error-of.ts";
import type { Fault, Outcome } from "#clouds/aws/errors.ts";
import type { BalancerLists } from "#clouds/aws/load-balancers/observe/all-load-balancers.ts";
import type { Reader } from "#clouds/aws/load-balancers/observe/reads.ts";
import { fault, ok } from "#clouds/outcome.ts";

/**
 * One unknown name fails a call with several: one is asked for by itself, more are looked for among all there are, which takes no
 * more calls unless the account has hundreds.
 */
const MOST_ASKED_SINGLY = 1;

/** How names are looked up. */
interface Looking {
  readonly read: Reader;
  readonly lists: BalancerLists;
  /** One of them has had no load balancer yet: all are listed, so that they need not be listed once more to be counted. */
  readonly isNew: boolean;
}

/** What there is of each name; undefined where there is none, and a fault where that could not be found out. */
export type ByName<Value> = ReadonlyMap<string, Outcome<Value | undefined>>;

/** Load balancers of ELBv2 by their names. */
export function networkByName(
  names: readonly string[],
  { read, lists, isNew }: Looking,
): Promise<ByName<LoadBalancer>> {
  return byName(names, isNew, {
    async one(name) {
      const answer = await read("elbv2:DescribeLoadBalancers", { Names: [name] });
      return answer.kind === "fault"
        ? answer
        : listed("elbv2:DescribeLoadBalancers", answer.value.LoadBalancers);
    },
    all: () => lists.network(read),
    nameOf: ({ LoadBalancerName: name }) => name,
  });
}

/** Classic load balancers by their names. */
export function classicByName(
  names: readonly string[],
  { read, lists, isNew }: Looking,
): Promise<ByName<LoadBalancerDescription>> {
  return byName(names, isNew, {
    async one(name) {
      const answer = await read("elb:DescribeLoadBalancers", { LoadBalancerNames: [name] });
      return answer.kind === "fault"
        ? answer
        : listed("elb:DescribeLoadBalancers", answer.value.LoadBalancerDescriptions);
    },
    all: () => lists.classic(read),
    nameOf: ({ LoadBalancerName: name }) => name,
  });
}

interface Lookups<Value> {
  one(name: string): Promise<Outcome<readonly Value[]>>;
  all(): Promise<Outcome<readonly Value[]>>;
  nameOf(value: Value): string | undefined;
}

async function byName<Value>(
  names: readonly string[],
  isNew: boolean,
  { one, all, nameOf }: Lookups<Value>,
): Promise<ByName<Value>> {
  if (isNew || names.length > MOST_ASKED_SINGLY) {
    const listing = await all();
    if (listing.kind === "fault") return new Map(names.map((name) => [name, listing]));
    const known = new Map(listing.value.map((value) => [nameOf(value), value]));
    return new Map(names.map((name) => [name, ok(known.get(name))]));
  }
  const entries = names.map(async (name): Promise<[string, Outcome<Value | undefined>]> => {
    const answer = await one(name);
    if (answer.kind === "fault") return [name, isNotFound(answer.fault) ? ok(undefined) : answer];
    return [name, ok(answer.value.find((value) => nameOf(value) === name))];
  });
  return new Map(await Promise.all(entries));
}

/** An answer without a list is nobody's word that there is nothing: a proxy's error page reads so, too. */
function listed<Value>(what: string, values: readonly Value[] | undefined): Outcome<readonly Value[]> {
  return values === undefined ? fault("Unavailable", `${what}: the answer is not a list`) : ok(values);
}

/** Whether a fault is AWS's positive word that there is no such thing: of version 1 it calls a load balancer an access point. */
export function isNotFound({ thrown }: Fault): boolean {
  return /^(LoadBalancer|AccessPoint|TargetGroup|Listener)NotFound$/.test(errorOf(thrown).code);
}
