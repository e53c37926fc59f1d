import { chunksOf } from "#clouds/aws/describe-instances.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import type { Reader } from "#clouds/aws/load-balancers/observe/reads.ts";
import type { AddressState } from "#clouds/aws/load-balancers/state.ts";
import { pairsOf } from "#clouds/aws/load-balancers/vpc/tags.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** EC2 takes so many values in a filter. */
const MAX_VALUES = 200;

/** Elastic IP addresses by allocation id. A filter leaves out what is not there, where ids would fail the whole call. */
export async function addressesOf(
  ids: readonly string[],
  read: Reader,
): Promise<Outcome<Readonly<Record<string, AddressState>>>> {
  const found: Record<string, AddressState> = {};
  for (const Values of chunksOf([...new Set(ids)], MAX_VALUES)) {
    const answer = await read("ec2:DescribeAddresses", { Filters: [{ Name: "allocation-id", Values }] });
    if (answer.kind === "fault") return answer;
    if (answer.value.Addresses === undefined)
      return fault("Unavailable", "DescribeAddresses: the answer is not a list");
    for (const { AllocationId: id, AssociationId: association, Tags: tags } of answer.value.Addresses)
      if (id !== undefined) found[id] = { tags: pairsOf(tags), isInUse: association !== undefined };
  }
  return ok(found);
}
