import type { DescribedLoadBalancer } from "#clouds/diagnosis.ts";
import type { KubeVipCloudConfig } from "#clouds/kubevip/config.ts";
import {
  buildAddressRequest,
  CHOOSE,
  type ChosenAddresses,
  choose,
  isOfPool,
  type PoolState,
} from "#clouds/kubevip/load-balancers/choose.ts";
import {
  ADDRESSES_ANNOTATION,
  arePortsApart,
  CHOSEN_ANNOTATION,
  createSharingCheck,
  findConflict,
  type Holder,
  IMPLEMENTATION_LABEL,
  INTERFACE_ANNOTATION,
  isChosen,
  isYounger,
  KUBE_VIP,
  LEGACY_LABEL,
  MAX_ADDRESSES,
  parseAddresses,
} from "#clouds/kubevip/load-balancers/holders.ts";
import { selectPool } from "#clouds/kubevip/load-balancers/pool.ts";
import { canonicalizeIp } from "#core/cidr.ts";
import type { Issue, LoadBalancerModel, LoadBalancerStep, ServiceEdit } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/** The field of a Service that names an address. */
const FIELD = "spec.loadBalancerIP";

/** The load balancer model for kube-vip: annotations of the Service. kube-vip itself writes the status. */
export const kubeVipModel: LoadBalancerModel = {
  precheck({ service, wanted }) {
    const issue = wanted ? (checkField(service) ?? checkAnnotation(service)) : undefined;
    return issue === undefined ? undefined : { kind: "refused", issue };
  },
  planStep({ service, wanted }, observed, settings) {
    if (!wanted) return remove(service);
    const found = observed as PoolState;
    if (getAddressesText(service) !== "") return keepAddresses(service, found, settings);
    return getRequestedAddress(service) === undefined
      ? annotateChosen(service, found)
      : annotateRequested(service, found, settings);
  },
  applyResult: (observed, _action, result): PoolState => ({
    ...(observed as PoolState),
    chosen: result as ChosenAddresses,
  }),
  describeDesired({ metadata: { annotations = {}, labels = {} }, spec }) {
    const { loadBalancerIP, ipFamilies, ipFamilyPolicy, ports } = spec;
    const said = [
      annotations[ADDRESSES_ANNOTATION],
      annotations[CHOSEN_ANNOTATION],
      labels[IMPLEMENTATION_LABEL],
    ];
    return JSON.stringify([loadBalancerIP, said, ipFamilies, ipFamilyPolicy, ports?.map(({ port }) => port)]);
  },
  hasNoTargets: true,
  getTarget: () => undefined,
  // All state is on the Service itself and is deleted with it.
  isImmediatelyVisible: true,
  toIssue: (_action, { reason }, service) =>
    reason === undefined ? undefined : buildNoAddressIssue(reason, service),
};

/** Describes for people what kube-vip gets for a Service, and the pool of its addresses. */
export function describeAddresses({ metadata, spec }: Service, state: unknown): DescribedLoadBalancer {
  const { data, holders } = state as PoolState;
  const { annotations = {}, namespace } = metadata;
  const addresses = parseAddresses(annotations[ADDRESSES_ANNOTATION] ?? "") ?? [];
  const by = isChosen(annotations) ? "chosen here" : "named by the Service's owner";
  const interfaceName = annotations[INTERFACE_ANNOTATION];
  const told = addresses.length === 0 ? [] : [`addresses: ${addresses.join(", ")}, ${by}`];
  const announced = interfaceName === undefined ? [] : [`announced on ${interfaceName}`];
  // Pools are not read for a Service that is being deleted.
  const isAsked = spec.type === "LoadBalancer" && metadata.deletionTimestamp === undefined;
  const pools = [describePool(data, namespace), `Services with an address: ${holders.length}`];
  return {
    belongsTo: addresses.length === 0 ? "none" : "service",
    lines: [...told, ...announced, ...(isAsked ? pools : [])],
  };
}

/** Keeps existing addresses, whatever set them, and checks that no other Service has them. */
function keepAddresses(service: Service, { holders, data }: PoolState, settings: Settings): LoadBalancerStep {
  const { annotations, creationTimestamp: created } = service.metadata;
  const isOurs = isChosen(annotations);
  const addresses = parseAddresses(getAddressesText(service)) ?? [];
  const ip = getRequestedAddress(service);
  // A Service that names a different address than the chosen one gets the named one.
  if (isOurs && ip !== undefined && ip !== addresses[0])
    return annotateRequested(service, { holders, data, chosen: null }, settings);
  const outside = isOurs ? undefined : checkPool(service, addresses, data, settings);
  if (outside !== undefined)
    return {
      kind: "refused",
      issue: { ...outside, field: ADDRESSES_ANNOTATION, value: getAddressesText(service) },
    };
  if (service.metadata.labels?.[IMPLEMENTATION_LABEL] !== KUBE_VIP)
    return buildWriteStep("LabelAddresses", addresses, { labels: { [IMPLEMENTATION_LABEL]: KUBE_VIP } });
  const wanted = buildAddressRequest(service);
  const own = holders.find(({ uid }) => uid === wanted.uid);
  // The other Services were not checked since it was written.
  if (own?.addresses.join() !== addresses.join())
    return {
      kind: "wait",
      because: { code: "CheckAddresses", message: addresses.join(", ") },
      afterSeconds: 1,
    };
  // Without the ConfigMap no setting forbids sharing.
  const share = isOurs && data !== null ? createSharingCheck(data) : arePortsApart;
  const other = findConflict(wanted, addresses, holders, share);
  if (other === undefined || !isYounger({ created, uid: wanted.uid }, other))
    return { kind: "handed-over", warnings: [] };
  if (isOurs) return buildWriteStep("GiveBackAddresses", addresses, buildRelease(service));
  return {
    kind: "handed-over",
    warnings: [buildInUseIssue(other, ADDRESSES_ANNOTATION, getAddressesText(service))],
  };
}

/** Writes the address of the spec to the annotation for kube-vip. */
function annotateRequested(
  service: Service,
  { holders, data }: PoolState,
  settings: Settings,
): LoadBalancerStep {
  const ip = getRequestedAddress(service) ?? "";
  const value = service.spec.loadBalancerIP;
  const outside = checkPool(service, [ip], data, settings);
  if (outside !== undefined) return { kind: "refused", issue: { ...outside, field: FIELD, value } };
  const other = findConflict(buildAddressRequest(service), [ip], holders, arePortsApart);
  if (other !== undefined) return { kind: "refused", issue: buildInUseIssue(other, FIELD, value) };
  return buildWriteStep("WriteAddresses", [ip], {
    annotations: { [ADDRESSES_ANNOTATION]: ip, [CHOSEN_ANNOTATION]: null },
    labels: { [IMPLEMENTATION_LABEL]: KUBE_VIP, [LEGACY_LABEL]: null },
  });
}

/** Chooses an address if none is named, and writes it. */
function annotateChosen(service: Service, { data, holders, chosen }: PoolState): LoadBalancerStep {
  if (chosen !== null) {
    const text = chosen.addresses.join(",");
    const [first = null] = chosen.addresses;
    const onInterface = chosen.interface === undefined ? {} : { [INTERFACE_ANNOTATION]: chosen.interface };
    return buildWriteStep("WriteAddresses", chosen.addresses, {
      annotations: { [ADDRESSES_ANNOTATION]: text, [CHOSEN_ANNOTATION]: text, ...onInterface },
      labels: { [IMPLEMENTATION_LABEL]: KUBE_VIP, [LEGACY_LABEL]: null },
      loadBalancerIP: first,
    });
  }
  if (data === null)
    return {
      kind: "refused",
      issue: { code: "NoPool", detail: "the ConfigMap with the pools is missing" },
    };
  const choice = choose(data, buildAddressRequest(service), holders);
  if (choice.kind === "none")
    return {
      kind: "refused",
      issue: { ...buildNoAddressIssue(choice.code, service), detail: choice.message },
    };
  const action = {
    action: CHOOSE,
    target: service.metadata.uid,
    parameters: { ...buildAddressRequest(service) },
  };
  const because = {
    code: CHOOSE,
    message: `an address of the pool of namespace ${service.metadata.namespace}`,
  };
  return { kind: "act", because, actions: [action] };
}

/** Removes chosen addresses if the Service no longer needs a load balancer; nothing else is changed. */
function remove(service: Service): LoadBalancerStep {
  const { deletionTimestamp, annotations } = service.metadata;
  const isLeft =
    deletionTimestamp !== undefined || service.spec.type === "LoadBalancer" || !isChosen(annotations);
  if (isLeft) return { kind: "handed-over", warnings: [] };
  return buildWriteStep(
    "GiveBackAddresses",
    parseAddresses(getAddressesText(service)) ?? [],
    buildRelease(service),
  );
}

function buildRelease(service: Service): ServiceEdit {
  const [first] = parseAddresses(getAddressesText(service)) ?? [];
  const isInSpec = first !== undefined && getRequestedAddress(service) === first;
  return {
    annotations: { [ADDRESSES_ANNOTATION]: null, [CHOSEN_ANNOTATION]: null },
    labels: { [IMPLEMENTATION_LABEL]: null },
    ...(isInSpec ? { loadBalancerIP: null } : {}),
  };
}

function buildWriteStep(code: string, addresses: readonly string[], edit: ServiceEdit): LoadBalancerStep {
  return { kind: "write", because: { code, message: addresses.join(", ") }, edit };
}

/** Checks `spec.loadBalancerIP`. */
function checkField({ spec: { loadBalancerIP: value } }: Service): Issue | undefined {
  if (!value || canonicalizeIp(value) !== undefined) return undefined;
  return { code: "InvalidField", field: FIELD, value, allowed: "an IP address" };
}

/** Checks the annotation that names addresses. */
function checkAnnotation(service: Service): Issue | undefined {
  const value = getAddressesText(service);
  if (parseAddresses(value) !== undefined) return undefined;
  const allowed = `IP addresses with commas between them, at most ${MAX_ADDRESSES}`;
  return { code: "InvalidAnnotation", field: ADDRESSES_ANNOTATION, value, allowed };
}

/**
 * Checks that an address is in the pool if Services may name only such ones; the caller adds the field's
 * name.
 */
function checkPool(
  { metadata: { namespace } }: Service,
  addresses: readonly string[],
  data: PoolState["data"],
  { cloud }: Settings,
): Issue | undefined {
  // It was parsed, and the controller has checked that it is this cloud's.
  const { outsidePool: isOutside } = cloud as Settings["cloud"] & KubeVipCloudConfig;
  if (isOutside === "allow") return undefined;
  const isWithin = addresses.every((address) => isOfPool(data ?? {}, namespace, address) === true);
  return isWithin ? undefined : { code: "AddressOutsidePool", allowed: "an address of the pool" };
}

/** Builds the issue of an address that another Service has. */
function buildInUseIssue({ namespace, name }: Holder, field: string, value: string | undefined): Issue {
  const holder = `${namespace}/${name}`;
  const allowed = `an address that Service ${holder} does not have`;
  return { code: "AddressInUse", field, value, allowed, detail: `Service ${holder} has it` };
}

/** Builds the issue of a failed choice from its code. */
function buildNoAddressIssue(code: string, { spec }: Service): Issue {
  if (code !== "PoolLacksFamily") return { code };
  return {
    code,
    field: spec.ipFamilyPolicy === "RequireDualStack" ? "spec.ipFamilyPolicy" : "spec.ipFamilies",
  };
}

/** Returns the annotation's text; empty without one. */
function getAddressesText({ metadata }: Service): string {
  return metadata.annotations?.[ADDRESSES_ANNOTATION]?.trim() ?? "";
}

/** Returns the canonical address of the spec; undefined if it names none. */
function getRequestedAddress({ spec }: Service): string | undefined {
  return spec.loadBalancerIP ? canonicalizeIp(spec.loadBalancerIP) : undefined;
}

function describePool(data: PoolState["data"], namespace: string): string {
  if (data === null) return "the ConfigMap with the pools is missing";
  const found = selectPool(data, namespace);
  if (found.kind === "none") return `no pool for namespace ${namespace}, and no global pool`;
  return found.kind === "pool" ? `pool: ${found.pool.key}` : `the pool cannot be read: ${found.message}`;
}
