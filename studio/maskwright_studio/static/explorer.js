// Where on a picture the pointer is, in the picture's own units.
// @ts-check

/** @param {SVGSVGElement} picture @param {MouseEvent} event @returns {{across: string, down: string} | null} */
export function placeIn(picture, event) {
  const onScreen = picture.getScreenCTM();
  if (!onScreen) return null;
  const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(onScreen.inverse());
  return { across: String(place.x), down: String(place.y) };
}
