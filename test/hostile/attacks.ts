import type { Attack } from "#test/hostile/attack.ts";
import { nestedAnswers, silentPatches } from "#test/hostile/attacks/answers-to-writes.ts";
import { endlessContinue, endlessEmptyPages } from "#test/hostile/attacks/endless-continue.ts";
import { failingNodes, silence, slowAnswers } from "#test/hostile/attacks/failing-and-slow.ts";
import { emptyFrames, pingFlood, settingsFlood } from "#test/hostile/attacks/frame-floods.ts";
import { creation1970, forgedProviderId } from "#test/hostile/attacks/honest-looking.ts";
import { endedLoop, endless401, goAwayLoop, goneLoop, redirects } from "#test/hostile/attacks/loops.ts";
import {
  blankLines,
  headerFlood,
  hugeToken,
  hugeVersion,
  longErrors,
  retryAfterForever,
  slowDrip,
} from "#test/hostile/attacks/odd-answers.ts";
import { oneByteFrames, oneBytePage } from "#test/hostile/attacks/one-byte-frames.ts";
import { gzipBomb, pageOfEmptyObjects } from "#test/hostile/attacks/page-of-empty-objects.ts";
import { text } from "#test/hostile/attacks/text.ts";
import {
  bookmarkFlood,
  endlessAdded,
  fatNodes,
  flappingNodes,
  malformedEvents,
  malformedNodes,
  modifiedFlood,
} from "#test/hostile/attacks/watch-floods.ts";

/** All that a hostile API server can do, by name. */
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

/** One of them. */
export type AttackName = keyof typeof ATTACKS;
