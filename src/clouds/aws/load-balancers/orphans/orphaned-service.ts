import { formatLoadBalancerName, formatManagedGroupName } from "#clouds/aws/load-balancers/names.ts";
import type { Holding } from "#core/service/holdings.ts";
import type { Service } from "#core/service/service.ts";

/** Pattern of load balancer names by the stock controller's recipe: all digits of a uid except the last. */
const NAME = /^a([0-9a-f]{31})$/;

/**
 * Parses the beginning of the Service's uid from a load balancer's name; undefined if the name is not one of
 * ours.
 */
export function parseUidPrefix(name: string): string | undefined {
  return NAME.exec(name)?.[1];
}

/** Parses the beginning of the Service's uid from the name of a classic load balancer's security group. */
export function parseGroupUidPrefix(name: string): string | undefined {
  return name.startsWith(CLASSIC_GROUP) ? parseUidPrefix(name.slice(CLASSIC_GROUP.length)) : undefined;
}

const CLASSIC_GROUP = "k8s-elb-";

/**
 * Builds a Service that no longer exists from its remains, with a uid from which the original names follow.
 */
export function buildOrphanedService({ service = "", uid = "" }: Pick<Holding, "service" | "uid">): Service {
  const [namespace = "", name = ""] = service.split("/");
  return {
    metadata: {
      namespace,
      name,
      uid: formatUid(uid.padEnd(UID_DIGITS, "0")),
      resourceVersion: "0",
      creationTimestamp: new Date(0).toISOString(),
    },
    spec: {},
  };
}

/**
 * Completes the uid with its last digit, which a load balancer's name has no room for but its security
 * group's name uses. It picks the digit for which such a group exists, if any.
 */
export function restoreLastDigit(
  service: Service,
  clusterName: string,
  groupNames: ReadonlySet<string>,
): Service {
  const { uid } = service.metadata;
  const all = [...HEXADECIMAL].map((digit): Service => {
    return { ...service, metadata: { ...service.metadata, uid: `${uid.slice(0, -1)}${digit}` } };
  });
  return (
    all.find(({ metadata }) => groupNames.has(formatManagedGroupName({ ...metadata, clusterName }))) ??
    service
  );
}

/** Lists the names of security groups for a Service's load balancer, of either type. */
export function listGroupNames({ metadata }: Service, clusterName: string): readonly string[] {
  const classic = `${CLASSIC_GROUP}${formatLoadBalancerName(metadata.uid)}`;
  return [classic, formatManagedGroupName({ ...metadata, clusterName })];
}

const UID_DIGITS = 32;

const HEXADECIMAL = "0123456789abcdef";

function formatUid(digits: string): string {
  const parts = [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20)];
  return [...parts, digits.slice(20)].join("-");
}

/**
 * The tag with which an audit marks resources without a Service, if the operator has orphans deleted: since
 * when, and when they are deleted. A load balancer that is kept for an existing Service loses it.
 */
export const ORPHANED_TAG = "serverless-ccm.io/orphaned";
