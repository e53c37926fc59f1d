import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { Instance } from "#core/instance.ts";
import { type Edit, type MapEntry, NO_EDIT, pointer, setEntries, test } from "#core/json-patch.ts";
import type { Node } from "#core/node/node.ts";

/** Says on the node which instance it was initialized from, over whatever it said before. */
export function setInstanceAnnotation(node: Node, instance: Instance): Edit {
  const value = identityOf(instance);
  if (annotationOf(node) === value) return NO_EDIT;
  return annotate(node, { key: INSTANCE_ANNOTATION, value, tests: [] });
}

/** Says so on a node that was taken over and does not say yet. */
export function addInstanceAnnotation(node: Node, instance: Instance): Edit {
  if (annotationOf(node) !== undefined) return NO_EDIT;
  const tests = [test(pointer("metadata", "annotations", INSTANCE_ANNOTATION), null)];
  return annotate(node, { key: INSTANCE_ANNOTATION, value: identityOf(instance), tests });
}

function identityOf({ account, network, id }: Instance): string {
  return `${account}/${network}/${id}`;
}

function annotationOf(node: Node): string | undefined {
  return node.metadata.annotations?.[INSTANCE_ANNOTATION];
}

function annotate(node: Node, entry: MapEntry): Edit {
  return setEntries(pointer("metadata", "annotations"), node.metadata.annotations !== undefined, [entry]);
}
