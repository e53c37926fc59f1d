import type { Server } from "#clouds/openstack/server.ts";
import type { InstanceState } from "#core/instance.ts";

/** Whether Nova still shows a server that is none any more. */
export function hasEnded({ status }: Server): boolean {
  return stateOf(status ?? "") === "terminated";
}

/** Nothing follows from words that are not known: neither that a server is gone nor that it stands still. */
export function stateOf(status: string): InstanceState {
  return STATES.get(status) ?? "running";
}

const STATES: ReadonlyMap<string, InstanceState> = new Map([
  ["SHUTOFF", "stopped"],
  ["DELETED", "terminated"],
  ["SOFT_DELETED", "terminated"],
]);
