import type { Attack } from "#test/adversarial/attack.ts";
import { nestedAnswers, silentPatches } from "#test/adversarial/attacks/answers-to-writes.ts";
import { endlessContinue, endlessEmptyPages } from "#test/adversarial/attacks/endless-continue.ts";
import { failingNodes, silence, slowAnswers } from "#test/adversarial/attacks/failing-and-slow.ts";
import { emptyFrames, pingFlood, settingsFlood } from "#test/adversarial/attacks/frame-floods.ts";
import {
  creation1970,
  forgedAnnouncements,
  forgedProviderId,
} from "#test/adversarial/attacks/honest-looking.ts";
import { endedLoop, endless401, goAwayLoop, goneLoop, redirects } from "#test/adversarial/attacks/loops.ts";
import {
  blankLines,
  headerFlood,
  hugeToken,
  hugeVersion,
  longErrors,
  retryAfterForever,
  slowDrip,
} from "#test/adversarial/attacks/odd-answers.ts";
import { oneByteFrames, oneBytePage } from "#test/adversarial/attacks/one-byte-frames.ts";
import { gzipBomb, pageOfEmptyObjects } from "#test/adversarial/attacks/page-of-empty-objects.ts";
import { text } from "#test/adversarial/attacks/text.ts";
import {
  bookmarkFlood,
  endlessAdded,
  fatNodes,
  flappingNodes,
  malformedEvents,
  malformedNodes,
  modifiedFlood,
} from "#test/adversarial/attacks/watch-floods.ts";

/** All attacks of a hostile API server, by name. */
export const ATTACKS = {
  "page-of-empty-objects": pageOfEmptyObjects,
  "gzip-bomb": gzipBomb,
  "endless-continue": endlessContinue,
  "endless-empty-pages": endlessEmptyPages,
  "endless-added": endlessAdded,
  "fat-nodes": fatNodes,
  "one-byte-frames": oneByteFrames,
  "one-byte-page": oneBytePage,
  "malformed-events": malformedEvents,
  "malformed-nodes": malformedNodes,
  "modified-flood": modifiedFlood,
  "flapping-nodes": flappingNodes,
  "bookmark-flood": bookmarkFlood,
  "nested-answers": nestedAnswers,
  "silent-patches": silentPatches,
  text,
  "creation-1970": creation1970,
  "forged-announcements": forgedAnnouncements,
  "forged-provider-id": forgedProviderId,
  "gone-loop": goneLoop,
  "ended-loop": endedLoop,
  "go-away-loop": goAwayLoop,
  "endless-401": endless401,
  redirects,
  "long-errors": longErrors,
  "huge-version": hugeVersion,
  "huge-token": hugeToken,
  "retry-after-forever": retryAfterForever,
  "header-flood": headerFlood,
  "slow-drip": slowDrip,
  "blank-lines": blankLines,
  "ping-flood": pingFlood,
  "settings-flood": settingsFlood,
  "empty-frames": emptyFrames,
  "failing-nodes": failingNodes,
  "slow-answers": slowAnswers,
  silence,
} as const satisfies Readonly<Record<string, Attack>>;

/** The name of an attack. */
export type AttackName = keyof typeof ATTACKS;
