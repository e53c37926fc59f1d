import { loadBalancerNameOf } from "#clouds/aws/load-balancers/load-balancer-name.ts";
import { managedGroupName } from "#clouds/aws/load-balancers/names.ts";
import type { Holding } from "#core/service/holdings.ts";
import type { Service } from "#core/service/service.ts";

/** What load balancers are called, by the stock controller's recipe: of a uid all digits but the last. */
const NAME = /^a([0-9a-f]{31})$/;

/** How the uid of the Service begins that a load balancer of this name was made for; undefined where nothing of ours is called so. */
export function uidInName(name: string): string | undefined {
  return NAME.exec(name)?.[1];
}

/** The same of a security group that was made for a classic load balancer. */
export function uidInGroupName(name: string): string | undefined {
  return name.startsWith(CLASSIC_GROUP) ? uidInName(name.slice(CLASSIC_GROUP.length)) : undefined;
}

const CLASSIC_GROUP = "k8s-elb-";

/** A Service that has gone, as far as what is left of it tells: with a uid of which names come out as they were. */
export function orphanedService({ service = "", uid = "" }: Pick<Holding, "service" | "uid">): Service {
  const [namespace = "", name = ""] = service.split("/");
  return {
    metadata: {
      namespace,
      name,
      uid: withDashes(uid.padEnd(UID_DIGITS, "0")),
      resourceVersion: "0",
      creationTimestamp: new Date(0).toISOString(),
    },
    spec: {},
  };
}

/**
 * The Service with the last digit of its uid, which the name of a load balancer has no room for, and of which the name of its security group
 * is made: the one by which there is such a group, where there is one.
 */
export function withLastDigit(
  service: Service,
  clusterName: string,
  groupNames: ReadonlySet<string>,
): Service {
  const { uid } = service.metadata;
  const all = [...HEXADECIMAL].map((digit): Service => {
    return { ...service, metadata: { ...service.metadata, uid: `${uid.slice(0, -1)}${digit}` } };
  });
  return (
    all.find(({ metadata }) => groupNames.has(managedGroupName({ ...metadata, clusterName }))) ?? service
  );
}

/** What security groups are called that were made for a load balancer of a Service, of either kind. */
export function groupNamesOf({ metadata }: Service, clusterName: string): readonly string[] {
  const classic = `${CLASSIC_GROUP}${loadBalancerNameOf(metadata.uid)}`;
  return [classic, managedGroupName({ ...metadata, clusterName })];
}

const UID_DIGITS = 32;
const HEXADECIMAL = "0123456789abcdef";

function withDashes(digits: string): string {
  const parts = [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20)];
  return [...parts, digits.slice(20)].join("-");
}
