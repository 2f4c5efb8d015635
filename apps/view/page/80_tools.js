/* ---- play: tools, controls of the scene, gamepads ---- */

class Tools {
  constructor(app) {
    this.app = app;
  }

  setScene() {}
  onstate() {}
  onkey() { return false; }
  keyTexts() { return []; }
  factsText() { return ''; }
  releaseAll() {}
  tick() {}
}
Object.assign(App.prototype, { toolDown() { return false; }, toolHover() {}, toolMove() {}, toolUp() {} });
