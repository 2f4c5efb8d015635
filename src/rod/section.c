/* Sections: area, moments of area and St Venant's torsion constant. */
#include "rod/rod.h"

#define PI 3.14159265358979323846

rp__rod_section rp__rod_section_ellipse(double youngs_modulus, double poisson_ratio, double density, double a, double b)
{
    double shear = youngs_modulus / (2 * (1 + poisson_ratio));
    rp__rod_section s;
    s.stretch = youngs_modulus * PI * a * b;
    s.bend[0] = youngs_modulus * PI * a * a * a * b / 4;
    s.bend[1] = youngs_modulus * PI * a * b * b * b / 4;
    /* J = pi a³ b³ / (a² + b²): the polar moment of area is right for circles only, and 25 times too large at a / b = 10. */
    s.twist = shear * PI * (a * b) * (a * b) * (a * b) / (a * a + b * b);
    s.mass = density * PI * a * b;
    s.inertia = density * PI * a * b * (a * a + b * b) / 4;
    s.radius = sqrt(a * b);
    return s;
}

rp__rod_section rp__rod_section_rectangle(double youngs_modulus, double poisson_ratio, double density, double w, double h)
{
    double shear = youngs_modulus / (2 * (1 + poisson_ratio)), lng = fmax(w, h), thin = fmin(w, h), q = thin / lng;
    rp__rod_section s;
    s.stretch = youngs_modulus * w * h;
    s.bend[0] = youngs_modulus * w * w * w * h / 12;
    s.bend[1] = youngs_modulus * w * h * h * h / 12;
    /* J = w h³ (1/3 - 0.21 (h/w) (1 - h⁴ / 12 w⁴)), h <= w: within 0.5 % of the series of St Venant. */
    s.twist = shear * lng * thin * thin * thin * (1.0 / 3 - 0.21 * q * (1 - q * q * q * q / 12));
    s.mass = density * w * h;
    s.inertia = density * w * h * (w * w + h * h) / 12;
    s.radius = sqrt(w * h / PI);
    return s;
}
