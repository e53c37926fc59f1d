import type { Action } from "./action.ts";
import { DEFAULT_VPC_ID } from "./build-instance.ts";
import { createFault } from "./fault.ts";
import { renderItems } from "./xml.ts";

/**
 * Returns the VPCs of the account: the default one, and those of instances and interfaces. Filters are not
 * supported here.
 */
export const describeVpcs: Action = ({ parameters, inventory, caller, now }) => {
  const used = inventory.networkInterfaces(caller.account, now).map(({ value }) => value.vpcId);
  const all = [...new Set([DEFAULT_VPC_ID, ...used])];
  const ids = parameters.list("VpcId");
  const missing = ids.filter((id) => !all.includes(id));
  if (missing.length > 0) {
    return createFault("InvalidVpcID.NotFound", `The vpc ID '${missing.join(", ")}' does not exist`);
  }
  const found = ids.length === 0 ? all : all.filter((id) => ids.includes(id));
  return {
    kind: "answer",
    content: {
      vpcSet: renderItems(found, (vpcId) => ({ vpcId, ownerId: caller.account, state: "available" })),
    },
    results: found.length,
  };
};
