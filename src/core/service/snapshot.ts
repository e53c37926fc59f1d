import { Service } from "#core/service/service.ts";
import { type ParsedObject, parseObject } from "#core/watch.ts";

/** Parses a whole Service or its snapshot; never throws. */
export function parseService(value: unknown): ParsedObject<Service> {
  return parseObject(Service, value);
}

/**
 * Returns the part of a Service that decisions read. Parsing already removes unknown fields; this also
 * removes annotations that no cloud reads. An emptied map stays as an empty map, because preconditions
 * distinguish "empty" from "absent".
 */
export function projectService(service: Service): Service {
  const { annotations, labels } = service.metadata;
  if (listEntries(annotations).every(isRead) && listEntries(labels).every(isLabelRead)) return service;
  const metadata = {
    ...service.metadata,
    ...(annotations === undefined
      ? {}
      : { annotations: Object.fromEntries(listEntries(annotations).filter(isRead)) }),
    ...(labels === undefined ? {} : { labels: Object.fromEntries(listEntries(labels).filter(isLabelRead)) }),
  };
  return { ...service, metadata };
}

function listEntries(map: Readonly<Record<string, string>> = {}): [string, string][] {
  return Object.entries(map);
}

/** They identify kube-vip's addresses, in this and in earlier versions. */
const LABELS_READ: ReadonlySet<string> = new Set(["implementation", "ipam-address"]);

function isLabelRead([key]: readonly [string, string]): boolean {
  return LABELS_READ.has(key);
}

/** kubectl's own copy of the whole Service. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** Every load balancer annotation of every cloud has one of these prefixes, or is short. */
const ALWAYS_READ = ["service.beta.kubernetes.io/", "service.kubernetes.io/", "serverless-ccm.io/"];
const MAX_OTHER_CHARACTERS = 4_096;

function isRead([key, value]: readonly [string, string]): boolean {
  if (key === LAST_APPLIED) return false;
  return value.length <= MAX_OTHER_CHARACTERS || ALWAYS_READ.some((prefix) => key.startsWith(prefix));
}
