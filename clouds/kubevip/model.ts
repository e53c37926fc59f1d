import { askedAddress, writtenOn } from "#clouds/kubevip/addresses-of.ts";
import { choose } from "#clouds/kubevip/choose.ts";
import {
  addressesIn,
  arePortsApart,
  isChosen,
  isYounger,
  othersAt,
  sharingBy,
} from "#clouds/kubevip/holders.ts";
import {
  ADDRESSES_ANNOTATION,
  CHOSEN_ANNOTATION,
  IMPLEMENTATION_LABEL,
  INTERFACE_ANNOTATION,
  KUBE_VIP,
  LEGACY_LABEL,
} from "#clouds/kubevip/keys.ts";
import { CHOOSE, type Chosen, type Observed, wantedBy } from "#clouds/kubevip/observed.ts";
import {
  FIELD,
  faultOfAnnotation,
  faultOfField,
  inUse,
  noAddress,
  outsidePool,
} from "#clouds/kubevip/problems.ts";
import type { LoadBalancerModel, LoadBalancerStep, ServiceEdit } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/** What load balancers are where kube-vip announces addresses: what is written on the Service. Its status is kube-vip's own. */
export const kubeVipModel: LoadBalancerModel = {
  before({ service, wanted }) {
    const problem = wanted ? (faultOfField(service) ?? faultOfAnnotation(service)) : undefined;
    return problem === undefined ? undefined : { kind: "refused", problem };
  },
  next({ service, wanted }, observed, settings) {
    if (!wanted) return away(service);
    const found = observed as Observed;
    if (writtenOn(service) !== "") return annotated(service, found, settings);
    return askedAddress(service) === undefined
      ? unannotated(service, found)
      : asked(service, found, settings);
  },
  fold: (observed, _action, result): Observed => ({ ...(observed as Observed), chosen: result as Chosen }),
  desired({ metadata: { annotations = {}, labels = {} }, spec }) {
    const { loadBalancerIP, ipFamilies, ipFamilyPolicy, ports } = spec;
    const said = [
      annotations[ADDRESSES_ANNOTATION],
      annotations[CHOSEN_ANNOTATION],
      labels[IMPLEMENTATION_LABEL],
    ];
    return JSON.stringify([loadBalancerIP, said, ipFamilies, ipFamilyPolicy, ports?.map(({ port }) => port)]);
  },
  hasNoTargets: true,
  targetOf: () => undefined,
  // What there is stands on the Service itself, and goes with it.
  showsAtOnce: true,
  problemOf: (_action, { reason }, service) =>
    reason === undefined ? undefined : noAddress(reason, service),
};

/** The addresses are there, whoever has named them: they are to be nobody else's. */
function annotated(service: Service, { holders, data }: Observed, settings: Settings): LoadBalancerStep {
  const { annotations, creationTimestamp: created } = service.metadata;
  const isOurs = isChosen(annotations);
  const addresses = addressesIn(writtenOn(service)) ?? [];
  const ip = askedAddress(service);
  // Whoever names another one than was chosen gets that.
  if (isOurs && ip !== undefined && ip !== addresses[0])
    return asked(service, { holders, data, chosen: null }, settings);
  const outside = isOurs ? undefined : outsidePool(service, addresses, data, settings);
  if (outside !== undefined)
    return {
      kind: "refused",
      problem: { ...outside, field: ADDRESSES_ANNOTATION, value: writtenOn(service) },
    };
  if (service.metadata.labels?.[IMPLEMENTATION_LABEL] !== KUBE_VIP)
    return write("LabelAddresses", addresses, { labels: { [IMPLEMENTATION_LABEL]: KUBE_VIP } });
  const wanted = wantedBy(service);
  const own = holders.find(({ uid }) => uid === wanted.uid);
  // Nobody has looked at all others since it was written.
  if (own?.addresses.join() !== addresses.join())
    return {
      kind: "wait",
      because: { code: "CheckAddresses", message: addresses.join(", ") },
      afterSeconds: 1,
    };
  // Without the ConfigMap nobody says that they may not share.
  const share = isOurs && data !== null ? sharingBy(data) : arePortsApart;
  const other = othersAt(wanted, addresses, holders, share);
  if (other === undefined || !isYounger({ created, uid: wanted.uid }, other))
    return { kind: "handed-over", warnings: [] };
  if (isOurs) return write("GiveBackAddresses", addresses, givenBack(service));
  return { kind: "handed-over", warnings: [inUse(other, ADDRESSES_ANNOTATION, writtenOn(service))] };
}

/** An address is named in the spec, and kube-vip is to be told of it. */
function asked(service: Service, { holders, data }: Observed, settings: Settings): LoadBalancerStep {
  const ip = askedAddress(service) ?? "";
  const value = service.spec.loadBalancerIP;
  const outside = outsidePool(service, [ip], data, settings);
  if (outside !== undefined) return { kind: "refused", problem: { ...outside, field: FIELD, value } };
  const other = othersAt(wantedBy(service), [ip], holders, arePortsApart);
  if (other !== undefined) return { kind: "refused", problem: inUse(other, FIELD, value) };
  return write("WriteAddresses", [ip], {
    annotations: { [ADDRESSES_ANNOTATION]: ip, [CHOSEN_ANNOTATION]: null },
    labels: { [IMPLEMENTATION_LABEL]: KUBE_VIP, [LEGACY_LABEL]: null },
  });
}

/** None is named: one is chosen, and then written. */
function unannotated(service: Service, { data, holders, chosen }: Observed): LoadBalancerStep {
  if (chosen !== null) {
    const text = chosen.addresses.join(",");
    const [first = null] = chosen.addresses;
    const onInterface = chosen.interface === undefined ? {} : { [INTERFACE_ANNOTATION]: chosen.interface };
    return write("WriteAddresses", chosen.addresses, {
      annotations: { [ADDRESSES_ANNOTATION]: text, [CHOSEN_ANNOTATION]: text, ...onInterface },
      labels: { [IMPLEMENTATION_LABEL]: KUBE_VIP, [LEGACY_LABEL]: null },
      loadBalancerIP: first,
    });
  }
  if (data === null)
    return {
      kind: "refused",
      problem: { code: "NoPool", detail: "the ConfigMap with the pools is not there" },
    };
  const choice = choose(data, wantedBy(service), holders);
  if (choice.kind === "none")
    return { kind: "refused", problem: { ...noAddress(choice.code, service), detail: choice.message } };
  const action = { action: CHOOSE, target: service.metadata.uid, parameters: { ...wantedBy(service) } };
  const because = {
    code: CHOOSE,
    message: `an address of the pool of namespace ${service.metadata.namespace}`,
  };
  return { kind: "act", because, actions: [action] };
}

/** What was chosen here is given back where the Service lives on without a load balancer; nothing else is touched. */
function away(service: Service): LoadBalancerStep {
  const { deletionTimestamp, annotations } = service.metadata;
  const isLeft =
    deletionTimestamp !== undefined || service.spec.type === "LoadBalancer" || !isChosen(annotations);
  if (isLeft) return { kind: "handed-over", warnings: [] };
  return write("GiveBackAddresses", addressesIn(writtenOn(service)) ?? [], givenBack(service));
}

function givenBack(service: Service): ServiceEdit {
  const [first] = addressesIn(writtenOn(service)) ?? [];
  const isInSpec = first !== undefined && askedAddress(service) === first;
  return {
    annotations: { [ADDRESSES_ANNOTATION]: null, [CHOSEN_ANNOTATION]: null },
    labels: { [IMPLEMENTATION_LABEL]: null },
    ...(isInSpec ? { loadBalancerIP: null } : {}),
  };
}

function write(code: string, addresses: readonly string[], edit: ServiceEdit): LoadBalancerStep {
  return { kind: "write", because: { code, message: addresses.join(", ") }, edit };
}
