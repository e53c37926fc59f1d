import type { Server } from "#clouds/openstack/server.ts";
import type { InstanceState } from "#core/instance.ts";

/** Whether a server has ended although Nova still shows it. */
export function hasEnded({ status }: Server): boolean {
  return toInstanceState(status ?? "") === "terminated";
}

/** An unknown status proves nothing: neither that a server is gone nor that it is stopped. */
export function toInstanceState(status: string): InstanceState {
  return STATES.get(status) ?? "running";
}

const STATES: ReadonlyMap<string, InstanceState> = new Map([
  ["SHUTOFF", "stopped"],
  ["DELETED", "terminated"],
  ["SOFT_DELETED", "terminated"],
]);
