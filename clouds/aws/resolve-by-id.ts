import type { Ownership } from "#clouds/aws/belonging.ts";
import {
  chunksOf,
  describeInstances,
  type Found,
  MAX_PAGES,
  roomBeside,
} from "#clouds/aws/describe-instances.ts";
import { answerOf } from "#clouds/aws/errors.ts";
import {
  choose,
  errorResolution,
  notFound,
  type Resolution,
  type Resolutions,
  wasOurs,
} from "#clouds/aws/resolution.ts";
import type { Session } from "#clouds/aws/session.ts";
import type { Node } from "#core/node/node.ts";

/**
 * Looks instances up by their ids, 200 a request. The filter, unlike the parameter InstanceIds, leaves out what EC2
 * does not have instead of failing everybody; and it is without states, so that terminated instances are found too.
 */
export async function resolveById(
  ids: ReadonlyMap<Node, string>,
  session: Session,
  ownership: Ownership,
): Promise<Resolutions> {
  const byId = new Map<string, Found | Resolution>();
  await Promise.all(
    chunksOf(ids.values(), roomBeside([])).map(async (chunk) => {
      const listing = await describeInstances(session, [{ Name: "instance-id", Values: chunk }]);
      if (listing.kind === "fault") {
        for (const id of chunk) byId.set(id, { kind: "answer", answer: answerOf(listing.fault) });
        return;
      }
      const { found, unnamed, isWhole } = listing.value;
      for (const each of found) byId.set(each.id, each);
      if (unnamed === 0 && isWhole) return;
      const because = isWhole ? "instances without an id" : `more pages than ${MAX_PAGES}`;
      const doubt = errorResolution("Unavailable", `DescribeInstances: the answer holds ${because}`);
      for (const id of chunk) if (!byId.has(id)) byId.set(id, doubt);
    }),
  );
  return new Map([...ids].map(([node, id]) => [node, resolutionOf(node, id, byId.get(id), ownership)]));
}

function resolutionOf(
  node: Node,
  id: string,
  known: Found | Resolution | undefined,
  ownership: Ownership,
): Resolution {
  const sought = `node ${node.metadata.name}, looked for by instance id ${id}`;
  if (known === undefined) return notFound(`${sought}: EC2 has no such instance`);
  if ("kind" in known) return known;
  if (wasOurs(node, known, ownership)) return { kind: "instance", found: known };
  return (
    choose([known], ownership, sought) ?? notFound(`${sought}: it has ended, and nothing tells whose it was`)
  );
}
