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
  chooseInstance,
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
      const reason = isWhole ? "instances without an id" : `more pages than ${MAX_PAGES}`;
      const incomplete = buildErrorResolution("Unavailable", `DescribeInstances: the answer holds ${reason}`);
      for (const id of chunk) if (!byId.has(id)) byId.set(id, incomplete);
    }),
  );
  return new Map([...ids].map(([node, id]) => [node, buildResolution(node, id, byId.get(id), ownership)]));
}

function buildResolution(
  node: Node,
  id: string,
  result: FoundInstance | Resolution | undefined,
  ownership: Ownership,
): Resolution {
  const search = `node ${node.metadata.name}, looked for by instance id ${id}`;
  if (result === undefined) return buildNotFound(`${search}: EC2 has no such instance`);
  if ("kind" in result) return result;
  if (wasOwned(node, result, ownership)) return { kind: "instance", found: result };
  return (
    chooseInstance([result], ownership, search) ??
    buildNotFound(`${search}: it is terminated, and its owner is unknown`)
  );
}
