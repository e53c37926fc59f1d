import type { NetworkInterface } from "@aws-sdk/client-ec2";
import { buildInstanceAddresses, buildInterfaceAddresses } from "#clouds/aws/addresses.ts";
import type { AwsCloudConfig } from "#clouds/aws/config.ts";
import type { FoundInstance } from "#clouds/aws/describe-instances.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import { buildTagLabels } from "#clouds/aws/labels-from-tags.ts";
import { formatProviderID } from "#clouds/aws/provider-id.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { type Instance, InstanceState } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";

/**
 * An instance, and the facts about its place that EC2 returned with it. Labels that do not come from its tags
 * are added later.
 */
export interface InstanceFacts {
  readonly instance: Instance;
  /** The zone's id, if the answer had it. */
  readonly zoneId: string | undefined;
}

/**
 * Converts EC2's description to the type of all clouds. A description without a field that every instance has
 * is `Unavailable`.
 */
export function buildInstanceFacts(
  found: FoundInstance,
  node: Node,
  config: AwsCloudConfig,
): Outcome<InstanceFacts> {
  const { instance, id } = found;
  const state = InstanceState.safeParse(instance.State?.Name);
  if (!state.success) return buildMissingFault(id, "state");
  const zone = instance.Placement?.AvailabilityZone;
  // A terminated instance needs no other field.
  if (!zone && state.data !== "terminated") return buildMissingFault(id, "zone");
  try {
    const facts: Instance = {
      id,
      account: found.account,
      network: instance.VpcId ?? "",
      state: state.data,
      providerID: node.spec.providerID || formatProviderID(zone ?? "", id),
      type: instance.InstanceType ?? "",
      zone: zone ?? "",
      region: config.region,
      addresses: buildInstanceAddresses(instance, config.nodeIPFamilies),
      labels: buildTagLabels(instance.Tags, config.labelsFromTags),
    };
    return ok({ instance: facts, zoneId: instance.Placement?.AvailabilityZoneId });
  } catch (error) {
    return buildMissingFault(id, `addresses (${error})`);
  }
}

/**
 * Converts a Fargate node's interface to the same type: it runs while its interface is attached, and has no
 * instance type.
 */
export function buildInterfaceFacts(
  eni: NetworkInterface,
  node: Node,
  config: AwsCloudConfig,
): Outcome<InstanceFacts> {
  const id = eni.NetworkInterfaceId;
  const zone = eni.AvailabilityZone;
  if (!id || !zone) return buildMissingFault(id ?? "a network interface", "zone");
  try {
    const facts: Instance = {
      id,
      account: eni.OwnerId ?? "",
      network: eni.VpcId ?? "",
      state: "running",
      providerID: node.spec.providerID ?? formatProviderID(zone, id),
      type: "",
      zone,
      region: config.region,
      addresses: buildInterfaceAddresses(eni, config.nodeIPFamilies),
      labels: {},
    };
    return ok({ instance: facts, zoneId: eni.AvailabilityZoneId });
  } catch (error) {
    return buildMissingFault(id, `addresses (${error})`);
  }
}

function buildMissingFault(id: string, field: string): Outcome<never> {
  return fault("Unavailable", `EC2's description of ${id} lacks a valid ${field}`);
}
