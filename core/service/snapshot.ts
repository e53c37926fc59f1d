import type { Parsed } from "#core/controller.ts";
import { parseObject } from "#core/parse-object.ts";
import { Service } from "#core/service/service.ts";

/** Parses a whole Service or a snapshot of one; never throws. */
export function parseService(value: unknown): Parsed<Service> {
  return parseObject(Service, value);
}

/**
 * The part of a Service that decisions read. Parsing leaves out all but that already; of annotations those go that no cloud reads,
 * and a map of which nothing is kept stays as an empty one, because preconditions tell "empty" from "absent".
 */
export function snapshotOf(service: Service): Service {
  const { annotations, labels } = service.metadata;
  if (entriesOf(annotations).every(isRead) && entriesOf(labels).every(isLabelRead)) return service;
  const metadata = {
    ...service.metadata,
    ...(annotations === undefined
      ? {}
      : { annotations: Object.fromEntries(entriesOf(annotations).filter(isRead)) }),
    ...(labels === undefined ? {} : { labels: Object.fromEntries(entriesOf(labels).filter(isLabelRead)) }),
  };
  return { ...service, metadata };
}

function entriesOf(map: Readonly<Record<string, string>> = {}): [string, string][] {
  return Object.entries(map);
}

/** By which kube-vip's addresses are known, by now and in earlier versions. */
const LABELS_READ: ReadonlySet<string> = new Set(["implementation", "ipam-address"]);

function isLabelRead([key]: readonly [string, string]): boolean {
  return LABELS_READ.has(key);
}

/** What kubectl keeps for itself: the whole Service once more. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** Whatever a load balancer is told on any cloud stands under one of these, or is short. */
const ALWAYS_READ = ["service.beta.kubernetes.io/", "service.kubernetes.io/", "serverless-ccm.io/"];
const MAX_OTHER_CHARACTERS = 4_096;

function isRead([key, value]: readonly [string, string]): boolean {
  if (key === LAST_APPLIED) return false;
  return value.length <= MAX_OTHER_CHARACTERS || ALWAYS_READ.some((prefix) => key.startsWith(prefix));
}
