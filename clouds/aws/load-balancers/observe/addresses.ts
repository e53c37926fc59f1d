import { splitIntoChunks } from "#clouds/aws/describe-instances.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import type { Reader } from "#clouds/aws/load-balancers/observe/reads.ts";
import type { AddressState } from "#clouds/aws/load-balancers/state.ts";
import { toPairs } from "#clouds/aws/load-balancers/vpc/tags.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** EC2's maximum of values in a filter. */
const MAX_VALUES = 200;

/**
 * Reads Elastic IP addresses by allocation id. A filter skips missing ones; the ids parameter would fail the
 * whole request.
 */
export async function readAddresses(
  ids: readonly string[],
  read: Reader,
): Promise<Outcome<Readonly<Record<string, AddressState>>>> {
  const found: Record<string, AddressState> = {};
  for (const Values of splitIntoChunks([...new Set(ids)], MAX_VALUES)) {
    const answer = await read("ec2:DescribeAddresses", { Filters: [{ Name: "allocation-id", Values }] });
    if (answer.kind === "fault") return answer;
    if (answer.value.Addresses === undefined)
      return fault("Unavailable", "DescribeAddresses: the answer is not a list");
    for (const { AllocationId: id, AssociationId: association, Tags: tags } of answer.value.Addresses)
      if (id !== undefined) found[id] = { tags: toPairs(tags), isInUse: association !== undefined };
  }
  return ok(found);
}
