import type { SecondCcm } from "#core/second-ccm.ts";
import { shown } from "#core/shown-text.ts";

/** Another cloud-controller-manager in one line. */
export function sentenceOf({ manager, lastSeen, isLive, controllers }: SecondCcm): string {
  const named = controllers
    .map(({ name, isRecent }) => (isRecent ? name : `${name} (not of late)`))
    .join(", ");
  const state = isLive ? "at work" : "quiet for 10 minutes and longer";
  return `other: ${manager}, ${state}, last seen ${shown(lastSeen)}${named === "" ? "" : `: ${named}`}`;
}
