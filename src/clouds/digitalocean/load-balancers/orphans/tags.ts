import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { formatOrphanMark, parseOrphanMark } from "#core/service/orphans/mark.ts";
import type { Service } from "#core/service/service.ts";

/**
 * Formats the tag with a load balancer's Service; undefined if the Service's name is invalid, which its API
 * server may allow.
 */
export function formatNameTag({
  metadata: { namespace, name },
}: Pick<Service, "metadata">): string | undefined {
  return [namespace, name].every((each) => LABEL.test(each))
    ? `${NAME_TAG_PREFIX}${namespace}:${name}`
    : undefined;
}

/** Whether a text is such a tag; nothing else may become part of a path. */
export function isNameTag(tag: string): boolean {
  return parseServiceName(tag) !== undefined;
}

/**
 * Returns the Service in a load balancer's tags as `namespace/name`; undefined if none or several are named.
 */
export function parseServiceTag({ tags }: Pick<LoadBalancer, "tags">): string | undefined {
  const [service, ...more] = new Set(tags.flatMap((tag) => parseServiceName(tag) ?? []));
  return more.length === 0 ? service : undefined;
}

/**
 * Formats the tag with which an audit marks an orphan. Each orphan has its own, so that it is removed with
 * the tag alone.
 */
export function formatOrphanTag(id: string, text: string): string {
  const { sinceMs, fromMs } = parseOrphanMark(text) ?? { sinceMs: 0, fromMs: 0 };
  return `${ORPHAN_TAG_PREFIX}${id}:${sinceMs}:${fromMs}`;
}

/** Whether a text is such a tag, of any load balancer. */
export function isOrphanTag(tag: string): boolean {
  return ORPHAN_TAG.test(tag);
}

/** Lists the marks on a load balancer: the tags and their content, the latest deletion time last. */
export function listOrphanMarks({
  id,
  tags,
}: Pick<LoadBalancer, "id" | "tags">): readonly { readonly tag: string; readonly text: string }[] {
  const marks = tags.flatMap((tag) => {
    const [, owner, since, from] = ORPHAN_TAG.exec(tag) ?? [];
    return owner === id ? [{ tag, sinceMs: Number(since), fromMs: Number(from) }] : [];
  });
  return marks
    .toSorted((one, other) => one.fromMs - other.fromMs)
    .map(({ tag, ...mark }) => ({ tag, text: formatOrphanMark(mark) }));
}

const NAME_TAG_PREFIX = "k8s-service-name:";
const ORPHAN_TAG_PREFIX = "k8s-orphaned:";

/** The pattern of names of namespaces and Services. */
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Milliseconds with as many digits as dates of the next centuries have. */
const ORPHAN_TAG = /^k8s-orphaned:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):(\d{1,13}):(\d{1,13})$/;

function parseServiceName(tag: string): string | undefined {
  if (!tag.startsWith(NAME_TAG_PREFIX)) return undefined;
  const [namespace = "", name = "", ...more] = tag.slice(NAME_TAG_PREFIX.length).split(":");
  const isValid = more.length === 0 && LABEL.test(namespace) && LABEL.test(name);
  return isValid ? `${namespace}/${name}` : undefined;
}
