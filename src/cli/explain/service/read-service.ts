import * as z from "zod";
import { formatNameHint } from "#cli/explain/name-hint.ts";
import type { ReachableCluster } from "#cli/reach-cluster.ts";
import type { Related } from "#core/controller.ts";
import type { Event, RelatedList } from "#core/event.ts";
import { formatCollectionPath, type ObjectName, SERVICES } from "#core/resources/resource.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import type { Service } from "#core/service/service.ts";
import { parseService } from "#core/service/snapshot.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { listAll, listByName } from "#kube/follow/list.ts";

/** The limit of Services whose names are compared with an unknown one, and of related objects. */
const MAX_OBJECTS = 10_000;
const MAX_NAME = 320;

const Named = z.object({ metadata: z.object({ namespace: z.string(), name: z.string() }) });

/**
 * Reads a Service with the relay's rights, which allow lists. Rejects an unknown name and names similar ones.
 */
export async function readService(
  reached: ReachableCluster,
  at: Required<ObjectName>,
  signal: AbortSignal,
): Promise<Service> {
  const transport = await reached.api("relay");
  const path = formatCollectionPath(SERVICES);
  const fullName = sanitizeText(`${at.namespace}/${at.name}`, MAX_NAME);
  const page = await listByName(transport, path, at, signal);
  if (page.kind === "expired") throw new Error(`Service "${fullName}" cannot be read: the list expired`);
  if (page.kind === "failed")
    throw new Error(`Service "${fullName}" cannot be read: ${page.message}; ${GRANT}`);
  const [found] = page.items;
  if (found !== undefined) {
    const parsed = parseService(found);
    if (parsed.kind === "object") return parsed.object;
    const faults = parsed.faults.map((fault) => `${fault.path}: ${fault.message}`).join("; ");
    throw new Error(`Service "${fullName}" is not what a Service is: ${sanitizeText(faults)}`);
  }
  const project = (service: unknown, kept: number): string | undefined => {
    const metadata = kept < MAX_OBJECTS ? Named.safeParse(service).data?.metadata : undefined;
    return metadata && `${metadata.namespace}/${metadata.name}`;
  };
  const list = await listAll(transport, path, project, signal, { clock: systemClock });
  const names = list.kind === "list" ? list.items : [];
  throw new Error(
    `cluster ${reached.cluster.name} has no Service "${fullName}"${formatNameHint(`${at.namespace}/${at.name}`, names, "Services")}`,
  );
}

const GRANT = "the relay's right to list Services is in infra/rbac/service-lb-controller/";

/** Reads the related objects that an event would carry; rejects if any cannot be listed. */
export async function readRelated(
  reached: ReachableCluster,
  related: readonly Related[],
  signal: AbortSignal,
): Promise<NonNullable<Event["related"]>> {
  const transport = await reached.api("relay");
  const lists = related.map(async ({ resource, project }): Promise<[string, RelatedList]> => {
    const path = formatCollectionPath(resource);
    const keep = (object: unknown, kept: number): unknown =>
      kept < MAX_OBJECTS ? project(object) : undefined;
    const list = await listAll(transport, path, keep, signal, { clock: systemClock });
    if (list.kind === "failed") throw new Error(`${resource.name} cannot be listed: ${list.message}`);
    const items: unknown[] = [...list.items];
    return [resource.name, { resourceVersion: list.resourceVersion, items }];
  });
  return Object.fromEntries(await Promise.all(lists));
}
