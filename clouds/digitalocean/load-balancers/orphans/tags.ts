import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { markOfText, writtenMark } from "#core/service/orphans/mark.ts";
import type { Service } from "#core/service/service.ts";

/** The tag that says for which Service a load balancer was made; undefined of a Service whose name is none, which its API server may hand out. */
export function nameTagOf({ metadata: { namespace, name } }: Pick<Service, "metadata">): string | undefined {
  return [namespace, name].every((each) => LABEL.test(each))
    ? `${NAME_TAG_PREFIX}${namespace}:${name}`
    : undefined;
}

/** Whether a text is such a tag: nothing else may become part of a path. */
export function isNameTag(tag: string): boolean {
  return serviceIn(tag) !== undefined;
}

/** The Service that a load balancer was made for by its tags, as `namespace/name`; undefined where none says so, or more than one. */
export function serviceOf({ tags }: Pick<LoadBalancer, "tags">): string | undefined {
  const [service, ...more] = new Set(tags.flatMap((tag) => serviceIn(tag) ?? []));
  return more.length === 0 ? service : undefined;
}

/** The tag by which an audit marks a load balancer that it takes for an orphan; each has its own, so that it goes with the tag alone. */
export function orphanTagOf(id: string, text: string): string {
  const { sinceMs, fromMs } = markOfText(text) ?? { sinceMs: 0, fromMs: 0 };
  return `${ORPHAN_TAG_PREFIX}${id}:${sinceMs}:${fromMs}`;
}

/** Whether a text is such a tag, of whichever load balancer. */
export function isOrphanTag(tag: string): boolean {
  return ORPHAN_TAG.test(tag);
}

/** The marks on a load balancer: its tags and what they say, the latest turn last. */
export function orphanMarksOf({
  id,
  tags,
}: Pick<LoadBalancer, "id" | "tags">): readonly { readonly tag: string; readonly text: string }[] {
  const marks = tags.flatMap((tag) => {
    const [, of, since, from] = ORPHAN_TAG.exec(tag) ?? [];
    return of === id ? [{ tag, sinceMs: Number(since), fromMs: Number(from) }] : [];
  });
  return marks
    .toSorted((one, other) => one.fromMs - other.fromMs)
    .map(({ tag, ...mark }) => ({ tag, text: writtenMark(mark) }));
}

const NAME_TAG_PREFIX = "k8s-service-name:";
const ORPHAN_TAG_PREFIX = "k8s-orphaned:";

/** What names of namespaces and Services are. */
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Of milliseconds as many digits as make a date of the next centuries. */
const ORPHAN_TAG = /^k8s-orphaned:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):(\d{1,13}):(\d{1,13})$/;

function serviceIn(tag: string): string | undefined {
  if (!tag.startsWith(NAME_TAG_PREFIX)) return undefined;
  const [namespace = "", name = "", ...more] = tag.slice(NAME_TAG_PREFIX.length).split(":");
  const isGood = more.length === 0 && LABEL.test(namespace) && LABEL.test(name);
  return isGood ? `${namespace}/${name}` : undefined;
}
