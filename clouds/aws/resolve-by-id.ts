import {
  countFreeFilterValues,
  describeInstances,
  type FoundInstance,
  MAX_PAGES,
  splitIntoChunks,
} from "#clouds/aws/describe-instances.ts";
import { toErrorAnswer } from "#clouds/aws/errors.ts";
import type { Ownership } from "#clouds/aws/ownership.ts";
import {
  buildErrorResolution,
  buildNotFound,
  choose,
  type Resolution,
  type Resolutions,
  wasOwned,
} from "#clouds/aws/resolution.ts";
import type { Session } from "#clouds/aws/session.ts";
import type { Node } from "#core/node/node.ts";

/**
 * Finds instances by id, 200 per request. The filter, unlike the parameter InstanceIds, skips unknown ids
 * instead of failing the request. It has no states, so that it finds terminated instances too.
 */
export async function resolveById(
  ids: ReadonlyMap<Node, string>,
  session: Session,
  ownership: Ownership,
): Promise<Resolutions> {
  const byId = new Map<string, FoundInstance | Resolution>();
  await Promise.all(
    splitIntoChunks(ids.values(), countFreeFilterValues([])).map(async (chunk) => {
      const listing = await describeInstances(session, [{ Name: "instance-id", Values: chunk }]);
      if (listing.kind === "fault") {
        for (const id of chunk) byId.set(id, { kind: "answer", answer: toErrorAnswer(listing.fault) });
        return;
      }
      const { found, unnamed, isWhole } = listing.value;
      for (const each of found) byId.set(each.id, each);
      if (unnamed === 0 && isWhole) return;
      const because = isWhole ? "instances without an id" : `more pages than ${MAX_PAGES}`;
      const doubt = buildErrorResolution("Unavailable", `DescribeInstances: the answer holds ${because}`);
      for (const id of chunk) if (!byId.has(id)) byId.set(id, doubt);
    }),
  );
  return new Map([...ids].map(([node, id]) => [node, buildResolution(node, id, byId.get(id), ownership)]));
}

function buildResolution(
  node: Node,
  id: string,
  known: FoundInstance | Resolution | undefined,
  ownership: Ownership,
): Resolution {
  const sought = `node ${node.metadata.name}, looked for by instance id ${id}`;
  if (known === undefined) return buildNotFound(`${sought}: EC2 has no such instance`);
  if ("kind" in known) return known;
  if (wasOwned(node, known, ownership)) return { kind: "instance", found: known };
  return (
    choose([known], ownership, sought) ??
    buildNotFound(`${sought}: it is terminated, and its owner is unknown`)
  );
}
