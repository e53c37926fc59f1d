import type { Action } from "./action.ts";
import { DEFAULT_VPC_ID } from "./build-instance.ts";
import { fault } from "./fault.ts";
import { items } from "./xml.ts";

/** The VPCs of the account: the usual one, and those that instances and interfaces are in. Filters are not known here. */
export const describeVpcs: Action = ({ parameters, inventory, caller, now }) => {
  const used = inventory.networkInterfaces(caller.account, now).map(({ value }) => value.vpcId);
  const all = [...new Set([DEFAULT_VPC_ID, ...used])];
  const ids = parameters.list("VpcId");
  const missing = ids.filter((id) => !all.includes(id));
  if (missing.length > 0) {
    return fault("InvalidVpcID.NotFound", `The vpc ID '${missing.join(", ")}' does not exist`);
  }
  const found = ids.length === 0 ? all : all.filter((id) => ids.includes(id));
  return {
    kind: "answer",
    content: {
      vpcSet: items(found, (vpcId) => ({ vpcId, ownerId: caller.account, state: "available" })),
    },
    results: found.length,
  };
};
